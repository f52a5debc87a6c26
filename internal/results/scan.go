package results

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Results are looked into where they are: a decoder would copy many megabytes
// for each step of a path. They were JSON when they were kept.

var errBroken = errors.New("the stored result is no longer valid JSON")

// elements calls f with the elements of an array, parts of v, until it returns
// false.
func elements(v json.RawMessage, f func(json.RawMessage) bool) error {
	return parts(v, func(rest json.RawMessage) (json.RawMessage, bool, error) {
		n := valueLen(rest)
		if n <= 0 {
			return nil, false, errBroken
		}
		return rest[n:], f(rest[:n]), nil
	})
}

// members calls f with the keys and values of an object, the values parts of v,
// until it returns false.
func members(v json.RawMessage, f func(key string, value json.RawMessage) bool) error {
	return parts(v, func(rest json.RawMessage) (json.RawMessage, bool, error) {
		var key string
		n := valueLen(rest)
		if n <= 0 || json.Unmarshal(rest[:n], &key) != nil {
			return nil, false, errBroken
		}
		rest = blank(rest[n:])
		if len(rest) == 0 || rest[0] != ':' {
			return nil, false, errBroken
		}
		rest = blank(rest[1:])
		if n = valueLen(rest); n <= 0 {
			return nil, false, errBroken
		}
		return rest[n:], f(key, rest[:n]), nil
	})
}

// parts calls next at each part of an array or object, which returns what
// follows it and whether to go on.
func parts(v json.RawMessage, next func(json.RawMessage) (rest json.RawMessage, more bool, err error)) error {
	v = blank(v)
	if len(v) < 2 {
		return errBroken
	}
	end := v[0] + 2 // "]" follows "[" by two, and "}" follows "{"
	v = blank(v[1:])
	if len(v) > 0 && v[0] == end {
		return nil
	}
	for {
		rest, more, err := next(v)
		if err != nil || !more {
			return err
		}
		switch rest = blank(rest); {
		case len(rest) == 0:
			return errBroken
		case rest[0] == end:
			return nil
		case rest[0] != ',':
			return errBroken
		}
		v = blank(rest[1:])
	}
}

func blank(v json.RawMessage) json.RawMessage { return bytes.TrimLeft(v, " \t\r\n") }

// valueLen is how long the value is that v begins with; zero if it does not end.
func valueLen(v json.RawMessage) int {
	depth := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth < 0 {
				return i // of a number or a word before it
			}
			if depth == 0 {
				return i + 1
			}
		case '"':
			n := textLen(v[i:])
			if n == 0 {
				return 0
			}
			if i += n - 1; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	if depth > 0 {
		return 0
	}
	return len(v)
}

// textLen is how long the string is that v begins with; zero if it does not end.
func textLen(v json.RawMessage) int {
	for i := 1; i < len(v); i++ {
		switch v[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}
