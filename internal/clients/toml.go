package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// tomlFile edits TOML as text, since no encoder keeps comments.
type tomlFile struct{}

// A tomlLine is one expression of a file, the header of a table or a key with its value, with the
// whole lines that contain it.
type tomlLine struct {
	path       []string
	start, end int
}

func (tomlFile) servers(data []byte, root []string) ([]config.Field, error) {
	values, err := tomlValues(data)
	if err != nil {
		return nil, err
	}
	at, there := tomlAt(values, root)
	if !there {
		return nil, nil
	}
	table, ok := at.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%q is not a table", strings.Join(root, "."))
	}
	lines, err := tomlLines(data)
	if err != nil {
		return nil, err
	}
	// In the order of the file, followed by the entries of inline tables.
	var names []string
	for _, l := range lines {
		if len(l.path) > len(root) && slices.Equal(l.path[:len(root)], root) && !slices.Contains(names, l.path[len(root)]) {
			names = append(names, l.path[len(root)])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var fields []config.Field
	for _, name := range names {
		fields = append(fields, config.Field{Key: name, Value: ordered(table[name])})
	}
	return fields, nil
}

func (f tomlFile) set(data []byte, root []string, name string, entry config.Object) ([]byte, error) {
	path := append(slices.Clone(root), name)
	eol := "\n"
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		eol = "\r\n"
	}
	section := []byte("[" + tomlKey(path) + "]" + eol)
	for _, field := range entry {
		text, err := tomlValue(field.Value)
		if err != nil {
			return nil, err
		}
		section = append(section, tomlKey([]string{field.Key})+" = "+text+eol...)
	}
	if at := tomlRanges(data, path); len(at) == 1 && bytes.HasPrefix(data[at[0].start:], []byte("[")) {
		return checkTOML(slices.Concat(data[:at[0].start], section, data[at[0].end:]), path, true)
	}
	data, err := f.remove(data, root, name)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.Write(data)
	if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
		b.WriteString(eol)
	}
	if len(bytes.TrimSpace(data)) > 0 {
		b.WriteString(eol)
	}
	b.Write(section)
	return checkTOML([]byte(b.String()), path, true)
}

func (tomlFile) remove(data []byte, root []string, name string) ([]byte, error) {
	path := append(slices.Clone(root), name)
	out := data
	for _, r := range slices.Backward(tomlRanges(data, path)) {
		start := r.start
		// The preceding blank line is removed too.
		if before := bytes.TrimRight(out[:start], " \t\r\n"); len(before) == 0 {
			start = 0
		} else if i := bytes.IndexByte(out[len(before):start], '\n'); i >= 0 {
			blank := out[len(before)+i+1 : start]
			if n := bytes.LastIndexByte(bytes.TrimSuffix(blank, []byte("\n")), '\n'); n >= 0 {
				start -= len(blank) - n - 1
			} else {
				start -= len(blank)
			}
		}
		out = slices.Concat(out[:start], out[r.end:])
	}
	return checkTOML(out, path, false)
}

func (tomlFile) restore(data, backup []byte, root []string, name string) ([]byte, error) {
	var section []byte
	for _, r := range tomlRanges(backup, append(slices.Clone(root), name)) {
		section = append(section, backup[r.start:r.end]...)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(section), []byte("[")) {
		return nil, fmt.Errorf("%q is not in a table of its own: copy it from the backup by hand", name)
	}
	sep := "\n"
	if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
		sep = "\n\n"
	}
	return checkTOML(slices.Concat(data, []byte(sep), section), append(slices.Clone(root), name), true)
}

// checkTOML checks that an edited file is valid, and whether path exists as expected.
func checkTOML(data []byte, path []string, there bool) ([]byte, error) {
	values, err := tomlValues(data)
	if err != nil {
		return nil, fmt.Errorf("%w; write each server as a table of its own, [%s]", err, tomlKey(path))
	}
	if _, found := tomlAt(values, path); found != there {
		return nil, fmt.Errorf("%q is part of an inline table: write it as [%s] first", path[len(path)-1], tomlKey(path))
	}
	return data, nil
}

// tomlAt returns the value under the keys of path.
func tomlAt(values map[string]any, path []string) (at any, there bool) {
	at, there = values, true
	for _, key := range path {
		table, _ := at.(map[string]any)
		if at, there = table[key]; !there {
			return nil, false
		}
	}
	return at, true
}

// tomlRanges returns the ranges of a file with the table path and its subtables. Comments between
// two of its lines are included.
func tomlRanges(data []byte, path []string) []tomlLine {
	lines, err := tomlLines(data)
	if err != nil {
		return nil
	}
	var out []tomlLine
	open := false
	for _, l := range lines {
		ours := len(l.path) >= len(path) && slices.Equal(l.path[:len(path)], path)
		switch {
		case ours && open:
			out[len(out)-1].end = l.end
		case ours:
			out = append(out, l)
		}
		open = ours
	}
	return out
}

// tomlLines returns the expressions of a file in order.
func tomlLines(data []byte) ([]tomlLine, error) {
	var p unstable.Parser
	p.Reset(data)
	var lines []tomlLine
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable && e.Kind != unstable.KeyValue {
			continue
		}
		var key []string
		start, end := -1, 0
		for it := e.Key(); it.Next(); {
			n := it.Node()
			key = append(key, string(n.Data))
			if start < 0 {
				start = int(n.Raw.Offset)
			}
			end = int(n.Raw.Offset + n.Raw.Length)
		}
		if e.Kind == unstable.KeyValue {
			end = int(e.Raw.Offset + e.Raw.Length)
			key = append(slices.Clone(table), key...)
		} else {
			table = key
		}
		lines = append(lines, tomlLine{key, lineStart(data, start), lineEnd(data, end)})
	}
	return lines, p.Error()
}

func lineStart(data []byte, off int) int { return bytes.LastIndexByte(data[:off], '\n') + 1 }

func lineEnd(data []byte, off int) int {
	if i := bytes.IndexByte(data[off:], '\n'); i >= 0 {
		return off + i + 1
	}
	return len(data)
}

// tomlValues parses the whole file. An error is one line and contains nothing of the file, which
// may contain secrets.
func tomlValues(data []byte) (map[string]any, error) {
	var values map[string]any
	err := toml.Unmarshal(data, &values)
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := at.Position()
		return nil, fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(at.Error(), "toml: "))
	}
	return values, err
}

// ordered converts maps to objects with sorted keys.
func ordered(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := config.Object{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			o = append(o, config.Field{Key: k, Value: ordered(v[k])})
		}
		return o
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = ordered(v[i])
		}
		return list
	case int64, float64:
		data, err := json.Marshal(v)
		if err != nil { // inf and nan
			return nil
		}
		return json.Number(data)
	case string, bool, nil:
		return v
	default: // dates and times
		return fmt.Sprint(v)
	}
}

func tomlKey(path []string) string {
	keys := slices.Clone(path)
	for i, k := range keys {
		if k == "" || strings.Trim(k, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			keys[i] = tomlString(k)
		}
	}
	return strings.Join(keys, ".")
}

func tomlValue(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return tomlString(v), nil
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = tomlString(s)
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case int, bool:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("no TOML for a %T", v)
}

// tomlString quotes s; TOML reads the escapes of JSON the same way.
func tomlString(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always has a JSON form
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}
