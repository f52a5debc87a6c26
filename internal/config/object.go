package config

import (
	"bytes"
	"encoding/json"
	"strings"
)

// An Object is a JSON object that keeps the order of its keys.
type Object []Field

// A Field is one member of an Object. Its value is an Object, a []any, a []string, a
// json.RawMessage, which is written unchanged, or another type that encoding/json supports.
type Field struct {
	Key   string
	Value any
}

// Get returns the value of key, or nil.
func (o Object) Get(key string) any {
	for _, f := range o {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// MarshalJSON encodes the fields in order.
func (o Object) MarshalJSON() ([]byte, error) {
	s, err := layout{}.line(o)
	return []byte(s), err
}

// A layout describes the formatting of a file.
type layout struct {
	eol    string // the line break
	unit   string // one step of indentation
	padded bool   // objects on one line are written { "a": 1 }
}

// maxLine is the length up to which a value stays on one line, if its neighbours do.
const maxLine = 120

// layoutOf derives the layout of data.
func layoutOf(data []byte) layout {
	l := layout{eol: "\n", unit: "  "}
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		l.eol = "\r\n"
	}
	// The first indented line that begins with a key is one level deep.
	for line := range bytes.Lines(data) {
		text := bytes.TrimLeft(line, " \t")
		if len(text) < len(line) && bytes.HasPrefix(text, []byte(`"`)) {
			l.unit = string(line[:len(line)-len(text)])
			break
		}
	}
	return l
}

// lines writes v on several lines; the first is not indented and the others begin with prefix.
func (l layout) lines(v any, prefix string) (string, error) {
	var items []string
	opening, closing := "{", "}"
	inner := prefix + l.unit
	switch v := v.(type) {
	case Object:
		for _, f := range v {
			value, err := l.lines(f.Value, inner)
			if err != nil {
				return "", err
			}
			items = append(items, quoteJSON(f.Key)+": "+value)
		}
	case []any, []string:
		short, err := l.line(v)
		if err != nil || len(inner)+len(short) <= maxLine {
			return short, err
		}
		opening, closing = "[", "]"
		for _, e := range elements(v) {
			value, err := l.lines(e, inner)
			if err != nil {
				return "", err
			}
			items = append(items, value)
		}
	default:
		return l.line(v)
	}
	if len(items) == 0 {
		return opening + closing, nil
	}
	sep := l.eol + inner
	return opening + sep + strings.Join(items, ","+sep) + l.eol + prefix + closing, nil
}

// line writes v on one line.
func (l layout) line(v any) (string, error) {
	var items []string
	opening, closing := "{", "}"
	if l.padded {
		opening, closing = "{ ", " }"
	}
	switch v := v.(type) {
	case Object:
		for _, f := range v {
			value, err := l.line(f.Value)
			if err != nil {
				return "", err
			}
			items = append(items, quoteJSON(f.Key)+": "+value)
		}
		if len(items) == 0 {
			return "{}", nil
		}
	case []any, []string:
		opening, closing = "[", "]"
		for _, e := range elements(v) {
			value, err := l.line(e)
			if err != nil {
				return "", err
			}
			items = append(items, value)
		}
	case json.RawMessage:
		return string(v), nil
	default:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		err := enc.Encode(v)
		return strings.TrimSuffix(b.String(), "\n"), err
	}
	return opening + strings.Join(items, ", ") + closing, nil
}

func elements(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	var list []any
	for _, s := range v.([]string) {
		list = append(list, s)
	}
	return list
}

func quoteJSON(s string) string {
	text, _ := layout{}.line(s) // a string always has a JSON form
	return text
}
