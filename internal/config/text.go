package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// SetKey sets the member at path in a text of JSON with comments, and returns the new text. The
// rest does not change; new members are indented like their neighbours. Missing objects on the
// path are created; an empty text is an empty object.
func SetKey(data []byte, path []string, value any) ([]byte, error) {
	bom, data := cutBOM(data)
	if len(bytes.TrimSpace(data)) == 0 {
		text, err := layoutOf(nil).lines(nest(path, value), "")
		return append(bom, text+"\n"...), err
	}
	root, err := parseText(data)
	if err != nil {
		return nil, err
	}
	t := text{data: data, layout: layoutOf(data), root: root}
	at := root
	for i, key := range path {
		obj, ok := at.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s is not an object", pathName(path[:i]))
		}
		m := member(obj, key)
		last := i == len(path)-1
		switch {
		case m == nil:
			return t.insert(bom, at, key, nest(path[i+1:], value))
		case last, m.Value.Value.Kind() == 'n':
			return t.replace(bom, m, nest(path[i+1:], value))
		}
		at = m.Value
	}
	return nil, errors.New("no key was named")
}

// DeleteKey removes the member that path names from a text of JSON with comments, with
// the rest of its line. Comments on their own lines stay. If the member does not exist,
// the text is returned unchanged.
func DeleteKey(data []byte, path []string) ([]byte, error) {
	bom, data := cutBOM(data)
	for {
		if len(bytes.TrimSpace(data)) == 0 {
			return append(bom, data...), nil
		}
		root, err := parseText(data)
		if err != nil {
			return nil, err
		}
		holder, ok := lookup(root, path[:len(path)-1])
		if !ok {
			return append(bom, data...), nil
		}
		obj, ok := holder.Value.(*hujson.Object)
		i := -1
		if ok {
			i = indexOf(obj, path[len(path)-1])
		}
		if i < 0 {
			return append(bom, data...), nil
		}
		data = deleteMember(data, holder, i) // again, in case of duplicate keys
	}
}

// LookupKey returns the value at path in a text of JSON with comments, and whether it exists. An
// empty path means the root.
func LookupKey(data []byte, path []string) (hujson.Value, bool, error) {
	_, data = cutBOM(data)
	if len(bytes.TrimSpace(data)) == 0 {
		return hujson.Value{}, false, nil
	}
	root, err := parseText(data)
	if err != nil {
		return hujson.Value{}, false, err
	}
	v, ok := lookup(root, path)
	return v, ok, nil
}

// parseText parses a text of JSON with comments. Its error is one line with the position of the
// first mistake.
func parseText(data []byte) (hujson.Value, error) {
	c := newCollector(data)
	if !c.encoding() {
		return hujson.Value{}, errors.New(c.mistakes[0].Text)
	}
	v, ok := parseSyntax(c)
	if !ok {
		m := c.mistakes[0]
		return hujson.Value{}, fmt.Errorf("line %d, column %d: %s", m.Line, m.Column, m.Text)
	}
	return v, nil
}

func lookup(v hujson.Value, path []string) (hujson.Value, bool) {
	for _, key := range path {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			return v, false
		}
		m := member(obj, key)
		if m == nil {
			return v, false
		}
		v = m.Value
	}
	return v, true
}

// indexOf finds a member by its key, the last of duplicate ones, like JSON readers.
func indexOf(obj *hujson.Object, key string) int {
	for i, m := range slices.Backward(obj.Members) {
		if m.Name.Value.(hujson.Literal).String() == key {
			return i
		}
	}
	return -1
}

func member(obj *hujson.Object, key string) *hujson.ObjectMember {
	if i := indexOf(obj, key); i >= 0 {
		return &obj.Members[i]
	}
	return nil
}

func nest(path []string, value any) any {
	for _, key := range slices.Backward(path) {
		value = Object{{key, value}}
	}
	return value
}

func pathName(path []string) string {
	if len(path) == 0 {
		return "the file"
	}
	return quote(strings.Join(path, "."))
}

// A text is a file during a change.
type text struct {
	data   []byte
	layout layout
	root   hujson.Value
}

// insert adds a member at the end of the object at.
func (t text) insert(bom []byte, at hujson.Value, key string, value any) ([]byte, error) {
	obj := at.Value.(*hujson.Object)
	rendered, sep, closing, err := t.render(at, obj, value)
	if err != nil {
		return nil, err
	}
	entry := sep + quoteJSON(key) + ": " + rendered
	end := at.EndOffset - 1 // of the closing brace
	if len(obj.Members) == 0 {
		start := at.StartOffset + 1
		pos := start + len(bytes.TrimRight(t.data[start:end], " \t\r\n"))
		return t.apply(bom, edit{pos, end, strings.TrimPrefix(entry, " ") + closing}), nil
	}
	last := obj.Members[len(obj.Members)-1].Value
	tail, comma := last.EndOffset, edit{last.EndOffset, last.EndOffset, ","}
	if last.AfterExtra != nil { // keep the trailing comma
		tail += len(last.AfterExtra) + 1
		comma.text = ""
		entry += ","
	}
	pos := tail + len(bytes.TrimRight(t.data[tail:end], " \t\r\n"))
	return t.apply(bom, comma, edit{pos, pos, entry}), nil
}

// render formats a new value in the object at, with the text before its key and, if the object is
// empty, between the value and the closing brace.
func (t text) render(at hujson.Value, obj *hujson.Object, value any) (rendered, sep, closing string, err error) {
	outer := indentAt(t.data, at.StartOffset)
	inner, oneLine := outer+t.layout.unit, !bytes.Contains(t.data[t.root.StartOffset:t.root.EndOffset], []byte("\n"))
	l := t.layout
	if len(obj.Members) > 0 {
		first := obj.Members[0].Name
		oneLine = !bytes.Contains(t.data[at.StartOffset:first.StartOffset], []byte("\n"))
		inner = indentAt(t.data, first.StartOffset)
		last := obj.Members[len(obj.Members)-1].Value
		if neighbour := t.data[last.StartOffset:last.EndOffset]; last.Value.Kind() == '{' && len(neighbour) > 2 && !bytes.Contains(neighbour, []byte("\n")) {
			l.padded = bytes.HasPrefix(neighbour, []byte("{ "))
			if rendered, err = l.line(value); err != nil || oneLine || len(inner)+len(rendered) <= maxLine {
				return rendered, separator(oneLine, l.eol+inner), "", err
			}
		}
	}
	if oneLine {
		rendered, err = l.line(value)
		return rendered, " ", "", err
	}
	rendered, err = l.lines(value, inner)
	return rendered, l.eol + inner, l.eol + outer, err
}

func separator(oneLine bool, lineBreak string) string {
	if oneLine {
		return " "
	}
	return lineBreak
}

// replace replaces the value of a member.
func (t text) replace(bom []byte, m *hujson.ObjectMember, value any) ([]byte, error) {
	old := t.data[m.Value.StartOffset:m.Value.EndOffset]
	l := t.layout
	l.padded = bytes.HasPrefix(old, []byte("{ "))
	rendered, err := l.line(value)
	root := t.data[t.root.StartOffset:t.root.EndOffset]
	_, isObject := value.(Object)
	// Use several lines if the value did; an empty value, or another type, does not determine it.
	if isObject && bytes.Contains(root, []byte("\n")) && (bytes.Contains(old, []byte("\n")) || len(old) <= 4) {
		rendered, err = l.lines(value, indentAt(t.data, m.Name.StartOffset))
	}
	if err != nil {
		return nil, err
	}
	return t.apply(bom, edit{m.Value.StartOffset, m.Value.EndOffset, rendered}), nil
}

func (t text) apply(bom []byte, edits ...edit) []byte {
	return append(bytes.Clone(bom), applyEdits(t.data, edits...)...)
}

// deleteMember removes the i-th member of the object holder.
func deleteMember(data []byte, holder hujson.Value, i int) []byte {
	obj := holder.Value.(*hujson.Object)
	m := obj.Members[i]
	isLast := i == len(obj.Members)-1
	hasComma := !isLast || m.Value.AfterExtra != nil
	start, end := m.Name.StartOffset, m.Value.EndOffset
	if hasComma {
		end += len(m.Value.AfterExtra) + 1
	}
	var edits []edit
	lineStart := start - len(indentBefore(data, start))
	ownLine := lineStart == 0 || data[lineStart-1] == '\n'
	if rest := restOfLine(data, end); ownLine && rest >= 0 {
		start, end = lineStart, rest
	} else if !isLast {
		end += len(data[end:]) - len(bytes.TrimLeft(data[end:], " \t"))
	}
	if isLast && !hasComma && i > 0 {
		before := obj.Members[i-1].Value
		comma := before.EndOffset + len(before.AfterExtra)
		edits = append(edits, edit{comma, comma + 1, ""})
		if between := data[comma+1 : start]; len(bytes.TrimSpace(between)) == 0 && !ownLine {
			start = comma + 1
		}
	}
	edits = append(edits, edit{start, end, ""})
	if len(obj.Members) == 1 {
		// White space alone between the braces is removed.
		left, right := data[holder.StartOffset+1:start], data[end:holder.EndOffset-1]
		if len(bytes.TrimSpace(left)) == 0 && len(bytes.TrimSpace(right)) == 0 {
			edits = []edit{{holder.StartOffset + 1, holder.EndOffset - 1, ""}}
		}
	}
	return applyEdits(data, edits...)
}

// restOfLine returns the offset of the next line if the rest of off's line is only white space and
// a comment, otherwise -1.
func restOfLine(data []byte, off int) int {
	line := data[off:]
	next := len(data)
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line, next = line[:i], off+i+1
	}
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0, bytes.HasPrefix(line, []byte("//")):
		return next
	case bytes.HasPrefix(line, []byte("/*")) && bytes.Index(line, []byte("*/")) == len(line)-2:
		return next
	}
	return -1
}

// indentAt returns the white space at the beginning of the line of off.
func indentAt(data []byte, off int) string {
	line := data[bytes.LastIndexByte(data[:off], '\n')+1 : off]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// indentBefore returns the white space directly before off.
func indentBefore(data []byte, off int) []byte {
	return data[len(bytes.TrimRight(data[:off], " \t")):off]
}

// An edit replaces a range of a text.
type edit struct {
	start, end int
	text       string
}

// applyEdits applies edits, which must not overlap.
func applyEdits(data []byte, edits ...edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(out, data[at:e.start]...)
		out = append(out, e.text...)
		at = e.end
	}
	return append(out, data[at:]...)
}

func cutBOM(data []byte) (bom, rest []byte) {
	if rest, ok := bytes.CutPrefix(data, []byte("\ufeff")); ok {
		return []byte("\ufeff"), rest
	}
	return nil, data
}

// Value converts v to a Go value: an Object, a []any, a string, a json.Number, a bool or nil.
func Value(v hujson.Value) any {
	switch v := v.Value.(type) {
	case *hujson.Object:
		o := Object{}
		for _, m := range v.Members {
			o = append(o, Field{m.Name.Value.(hujson.Literal).String(), Value(m.Value)})
		}
		return o
	case *hujson.Array:
		list := []any{}
		for _, e := range v.Elements {
			list = append(list, Value(e))
		}
		return list
	case hujson.Literal:
		switch v.Kind() {
		case '"':
			return v.String()
		case '0':
			return json.Number(v)
		case 't', 'f':
			return v.Kind() == 't'
		}
	}
	return nil
}
