package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// A table contains, for each row, the values of both builds by turns.
type table struct {
	rounds int
	values map[string]*[2][]float64
}

func newTable(rounds int) *table { return &table{rounds, map[string]*[2][]float64{}} }

// measure runs each pass by turns. A pass that fails for one build leaves its rows
// empty for that build; it is an error if it fails for the new one.
func (t *table) measure(ctx context.Context, builds [2]*build, only string) error {
	for _, p := range passes {
		if !slices.ContainsFunc(p.rows, func(row string) bool { return strings.Contains(row, only) }) {
			continue
		}
		for _, row := range p.rows {
			t.values[row] = new([2][]float64)
		}
		failed := false
		for round := range t.rounds {
			for i := range 2 {
				side := (i + round) % 2 // alternate which build goes first
				if side == 0 && failed {
					continue
				}
				err := p.run(ctx, builds[side], func(row string, v float64) { t.values[row][side] = append(t.values[row][side], v) })
				if err != nil && side == 1 {
					return fmt.Errorf("new build: %w", err)
				}
				if err != nil {
					fmt.Fprintf(os.Stderr, "compare: old build: %v\n", err)
					failed = true
				}
			}
		}
	}
	return nil
}

// quantile interpolates between the two nearest values; it returns 0 without values.
func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return 0
	}
	x = slices.Sorted(slices.Values(x))
	at := q * float64(len(x)-1)
	below := int(at)
	above := min(below+1, len(x)-1)
	return x[below] + (at-float64(below))*(x[above]-x[below])
}

// ratios returns new to old, turn by turn.
func (t *table) ratios(row string) []float64 {
	v := t.values[row]
	var r []float64
	for i := range min(len(v[0]), len(v[1])) {
		r = append(r, v[1][i]/v[0][i])
	}
	return r
}

// above returns the rows with a ratio above limit.
func (t *table) above(limit float64) []string {
	var rows []string
	for _, p := range passes {
		for _, row := range p.rows {
			if row != rowDirect && t.values[row] != nil && quantile(t.ratios(row), .5) > limit {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// keepBetter takes the rows of u with the smaller ratio.
func (t *table) keepBetter(u *table) {
	for row := range t.values {
		if quantile(u.ratios(row), .5) < quantile(t.ratios(row), .5) {
			t.values[row] = u.values[row]
		}
	}
}

// print writes a table in Markdown.
func (t *table) print(w io.Writer, old, current string) {
	fmt.Fprintf(w, "| median of %d turns | %s | %s | ratio | quartiles of the ratios |\n|---|--:|--:|--:|--:|\n", t.rounds, old, current)
	for _, p := range passes {
		for _, row := range p.rows {
			v := t.values[row]
			if v == nil || len(v[0])+len(v[1]) == 0 {
				continue
			}
			fmt.Fprintf(w, "| %s |", row)
			for side := range 2 {
				if len(v[side]) == 0 {
					fmt.Fprint(w, " – |")
				} else {
					fmt.Fprintf(w, " %.3g |", quantile(v[side], .5))
				}
			}
			if r := t.ratios(row); len(r) == 0 {
				fmt.Fprintln(w, " – | – |")
			} else {
				fmt.Fprintf(w, " %.2f | %.2f to %.2f |\n", quantile(r, .5), quantile(r, .25), quantile(r, .75))
			}
		}
	}
}
