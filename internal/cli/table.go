package cli

import (
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

// A Table has the names of its columns, parted by tabs, and the cells of each
// row. A last column without a name is not aligned, and on a terminal what is
// beyond its width is cut.
type Table[Row any] struct {
	columns string
	cells   func(Row) []any
}

// NewTable returns a table.
func NewTable[Row any](columns string, cells func(Row) []any) Table[Row] {
	return Table[Row]{columns, cells}
}

// Print writes the rows as columns that are as wide as their cells.
func (t Table[Row]) Print(w io.Writer, rows []Row) error {
	width := Width(w)
	if width == 0 || !strings.HasSuffix(t.columns, "\t") {
		return t.write(w, rows, repeaterOf(w))
	}
	var text strings.Builder
	if err := t.write(&text, rows, repeaterOf(w)); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		Fprintln(w, gate.Cut(strings.TrimRight(line, " \n"), width))
	}
	return nil
}

func (t Table[Row]) write(w io.Writer, rows []Row, r *repeater) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	Fprintln(tw, Lines(t.columns))
	for _, row := range rows {
		cells := t.cells(row)
		r.hints(cells)
		for i, cell := range cells {
			if i > 0 {
				Fprintf(tw, "\t")
			}
			Fprintf(tw, "%v", cell)
		}
		Fprintln(tw)
	}
	return tw.Flush()
}

// PrintList prints a list: as JSON if requested, the text none if there are no rows,
// else as a table.
func PrintList[Row any](t *IO, rows []Row, none string, what Table[Row]) error {
	if t.JSON {
		return t.PrintJSON(rows)
	}
	if len(rows) == 0 {
		_, err := Fprintln(t.Out, Lines(none))
		return err
	}
	return what.Print(t.Out, rows)
}

// Count returns "1 tool" or "2 tools".
func Count(n int, what string) string { return words.Count(n, what) }
