package jsrun

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/internal/words"
)

// table formats the items of an object or an array as rows, and other values like console.log. The
// default columns are the keys of the items.
func (r *runtime) table(v, columns goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok || r.vm.InstanceOf(o, r.mapClass) || r.vm.InstanceOf(o, r.setClass) {
		return r.inspect(v)
	}
	const index, values = "(index)", "Values"
	names := []string{index}
	list, fixed := columns.(*goja.Object)
	if fixed {
		for _, i := range list.Keys() {
			names = append(names, list.Get(i).String())
		}
	}
	cell := func(v goja.Value) string {
		in := inspector{r: r, levels: 1}
		return in.value(v, 0)
	}
	keys := o.Keys()
	shown := keys[:min(len(keys), maxInspectItems)]
	plain := false
	var rows []map[string]string
	for _, key := range shown {
		row := map[string]string{index: key}
		item, ok := o.Get(key).(*goja.Object)
		if ok && !callable(item) {
			for _, name := range item.Keys() {
				if !fixed && !slices.Contains(names, name) {
					names = append(names, name)
				}
				row[name] = cell(item.Get(name))
			}
		} else if !fixed {
			row[values], plain = cell(o.Get(key)), true
		}
		rows = append(rows, row)
	}
	if plain && !slices.Contains(names, values) {
		names = append(names, values)
	}
	text := tableText(names, rows)
	if more := len(keys) - len(shown); more > 0 {
		text += "\n... " + words.Count(more, "more row")
	}
	return text
}

// tableText formats rows below the names of their columns.
func tableText(names []string, rows []map[string]string) string {
	lines := make([]string, len(rows)+1)
	for _, name := range names {
		width := utf8.RuneCountInString(name)
		for _, row := range rows {
			width = max(width, utf8.RuneCountInString(row[name]))
		}
		lines[0] += pad(name, width+2)
		for i, row := range rows {
			lines[i+1] += pad(row[name], width+2)
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}
