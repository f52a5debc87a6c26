package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// A table has the names of its columns, parted by tabs, and the cells of each
// row. A last column without a name is not aligned, and on a terminal what is
// beyond its width is cut.
type table[Row any] struct {
	columns string
	cells   func(Row) []any
}

// print writes the rows as columns that are as wide as their cells.
func (t table[Row]) print(w io.Writer, rows []Row) error {
	width := widthOf(w)
	if width == 0 || !strings.HasSuffix(t.columns, "\t") {
		return t.write(w, rows)
	}
	var text strings.Builder
	if err := t.write(&text, rows); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		sayln(w, gate.Cut(strings.TrimRight(line, " \n"), width))
	}
	return nil
}

func (t table[Row]) write(w io.Writer, rows []Row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	sayln(tw, lines(t.columns))
	for _, r := range rows {
		for i, cell := range t.cells(r) {
			if i > 0 {
				say(tw, "\t")
			}
			say(tw, "%v", cell)
		}
		sayln(tw)
	}
	return tw.Flush()
}

// printList prints a list: as JSON if requested, the text none if there are no rows,
// else as a table.
func printList[Row any](a *app, rows []Row, none string, t table[Row]) error {
	if a.json {
		return a.printJSON(rows)
	}
	if len(rows) == 0 {
		_, err := sayln(a.stdout, lines(none))
		return err
	}
	return t.print(a.stdout, rows)
}

// counted is "1 tool", "2 tools".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
