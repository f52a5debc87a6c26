package jsrun

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// table writes the items of an object, an array, a Map or a Set as rows. Without
// columns, those are the keys of the items.
func (r *runtime) table(v, columns goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok {
		return r.inspect(v)
	}
	t := tableRows{r: r, names: []string{"(index)"}, at: map[string]int{}}
	pairs := r.vm.InstanceOf(o, r.mapClass)
	if pairs || r.vm.InstanceOf(o, r.setClass) {
		t.iterate(o, pairs)
		return t.text()
	}
	if list, ok := columns.(*goja.Object); ok {
		t.fixed = true
		for _, i := range list.Keys() {
			t.column(list.Get(i).String())
		}
	}
	for _, key := range o.Keys() {
		if t.begin(key) {
			t.item(o.Get(key))
		}
	}
	return t.text()
}

// tableRows are the rows of a table, each with its index in front.
type tableRows struct {
	r      *runtime
	names  []string // of the columns
	at     map[string]int
	fixed  bool // the columns are given
	rows   [][]string
	values []string // of the rows that are no objects, for the last column
	plain  bool     // there are some
	more   int      // rows that are left out
}

// begin adds a row, as long as there are not too many.
func (t *tableRows) begin(index string) bool {
	if len(t.rows) == maxInspectItems {
		t.more++
		return false
	}
	t.rows, t.values = append(t.rows, []string{index}), append(t.values, "")
	return true
}

// column returns the place of a column, which is made if it is missing.
func (t *tableRows) column(name string) int {
	if t.at[name] == 0 {
		t.at[name] = len(t.names)
		t.names = append(t.names, name)
	}
	return t.at[name]
}

func (t *tableRows) set(name string, v goja.Value) {
	at, row := t.column(name), &t.rows[len(t.rows)-1]
	for len(*row) <= at {
		*row = append(*row, "")
	}
	(*row)[at] = t.cell(v)
}

func (t *tableRows) cell(v goja.Value) string {
	in := inspector{r: t.r, levels: 1}
	return in.value(v, 0)
}

// item fills the last row with what it is about.
func (t *tableRows) item(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || callable(o) {
		if !t.fixed {
			t.plain, t.values[len(t.values)-1] = true, t.cell(v)
		}
		return
	}
	for _, key := range o.Keys() {
		if !t.fixed || t.at[key] > 0 {
			t.set(key, o.Get(key))
		}
	}
}

// iterate makes the rows of a Map or a Set.
func (t *tableRows) iterate(o *goja.Object, pairs bool) {
	t.names[0] = "(iteration index)"
	i := 0
	t.r.vm.ForOf(o, func(item goja.Value) bool {
		if t.begin(strconv.Itoa(i)) {
			if pair, ok := item.(*goja.Object); ok && pairs {
				t.set("Key", pair.Get("0"))
				item = pair.Get("1")
			}
			t.set("Values", item)
		}
		i++
		return true
	})
}

func (t *tableRows) text() string {
	if t.plain {
		t.names = append(t.names, "Values")
		for i, v := range t.values {
			for v != "" && len(t.rows[i]) < len(t.names)-1 {
				t.rows[i] = append(t.rows[i], "")
			}
			if v != "" {
				t.rows[i] = append(t.rows[i], v)
			}
		}
	}
	text := columnsOf(append([][]string{t.names}, t.rows...), len(t.names))
	if t.more > 0 {
		text += "\n... " + counted(int64(t.more), "more row")
	}
	return text
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
