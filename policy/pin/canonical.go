package pin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// An object keeps its members in order, twice the same key too: what one reader
// takes first another takes last.
type object []member

type member struct {
	key   string
	value any
}

const maxDepth = 200

// parse reads one JSON value: nil, bool, json.Number, string, []any or object.
func parse(raw json.RawMessage) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("invalid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := parseValue(d, 0)
	if err != nil {
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("invalid JSON: more than one value")
	}
	return v, nil
}

func parseValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("nested too deep")
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := parseValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		var o object
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := parseValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			o = append(o, member{key.(string), v})
		}
		_, err := d.Token()
		return o, err
	}
	return t, nil
}

func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case json.Number:
		return appendNumber(b, v)
	case string:
		return appendString(b, v), nil
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendValue(b, item); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case object:
		sorted := slices.Clone(v)
		slices.SortStableFunc(sorted, func(x, y member) int { return slices.Compare(utf16.Encode([]rune(x.key)), utf16.Encode([]rune(y.key))) })
		b = append(b, '{')
		for i, m := range sorted {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, m.key), ':')
			var err error
			if b, err = appendValue(b, m.value); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	return nil, fmt.Errorf("a value of type %T", v)
}

// appendNumber writes a number as ECMAScript does. An integer that a double
// cannot hold keeps its digits, so that no change of it is lost.
func appendNumber(b []byte, n json.Number) ([]byte, error) {
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) {
		return append(b, n...), nil
	}
	if math.Abs(f) >= 1<<53 {
		if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
			return strconv.AppendInt(b, i, 10), nil
		}
	}
	if f == 0 {
		return append(b, '0'), nil
	}
	format := byte('f')
	if abs := math.Abs(f); abs < 1e-6 || abs >= 1e21 {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if format == 'e' { // e-09 is e-9
		if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-2] == '0' {
			b[n-2] = b[n-1]
			b = b[:n-1]
		}
	}
	return b, nil
}

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
