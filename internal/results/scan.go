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
	return countedMembers(v, func(key string, value json.RawMessage, _ int) bool { return f(key, value) })
}

// countedMembers is like members, and passes the number of items of a value that is an
// array or object.
func countedMembers(v json.RawMessage, f func(key string, value json.RawMessage, items int) bool) error {
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
		n, items := scanValue(rest)
		if n <= 0 {
			return nil, false, errBroken
		}
		return rest[n:], f(key, rest[:n], items), nil
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
	n, _ := scanValue(v)
	return n
}

// scanValue is like valueLen, and returns the number of items if the value is an array
// or object.
func scanValue(v json.RawMessage) (n, items int) {
	depth := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth < 0 {
				return i, 0 // a number or a word ends here
			}
			if depth == 0 {
				if len(blank(v[1:i])) > 0 {
					items++
				}
				return i + 1, items
			}
		case '"':
			n := textLen(v[i:])
			if n == 0 {
				return 0, 0
			}
			if i += n - 1; depth == 0 {
				return i + 1, 0
			}
		case ',':
			if depth == 0 {
				return i, 0
			}
			if depth == 1 {
				items++
			}
		case ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i, 0
			}
		}
	}
	if depth > 0 {
		return 0, 0
	}
	return len(v), 0
}

// textLen is how long the string is that v begins with; zero if it does not end.
func textLen(v json.RawMessage) int {
	for i := 1; ; i++ {
		n := bytes.IndexByte(v[min(i, len(v)):], '"')
		if n < 0 {
			return 0
		}
		i += n
		escapes := 0
		for j := i - 1; j > 0 && v[j] == '\\'; j-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}
