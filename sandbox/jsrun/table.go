package jsrun

import (
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// table writes rows of objects, or of arrays, as columns.
func (r *runtime) table(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		return r.inspect(v)
	}
	columns := []string{"(index)"}
	at := map[string]int{}
	var rows [][]string
	for _, key := range o.Keys() {
		if len(rows) == maxInspectItems {
			break
		}
		row := []string{key}
		set := func(column string, cell goja.Value) {
			if at[column] == 0 {
				at[column] = len(columns)
				columns = append(columns, column)
			}
			for len(row) <= at[column] {
				row = append(row, "")
			}
			in := inspector{r: r, levels: 1}
			row[at[column]] = in.value(cell, 0)
		}
		if item, ok := o.Get(key).(*goja.Object); ok {
			for _, k := range item.Keys() {
				set(k, item.Get(k))
			}
		} else {
			set("Values", o.Get(key))
		}
		rows = append(rows, row)
	}
	return columnsOf(append([][]string{columns}, rows...), len(columns))
}

func columnsOf(rows [][]string, n int) string {
	widths := make([]int, n)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, cell := range row {
			cells[j] = pad(cell, widths[j])
		}
		lines[i] = strings.TrimRight(strings.Join(cells, "  "), " ")
	}
	return strings.Join(lines, "\n")
}
