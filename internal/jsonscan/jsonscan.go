// Package jsonscan scans JSON without decoding it. It accepts exactly what encoding/json accepts,
// so that all packages that look at the same bytes agree about them: a policy, a scanner of
// definitions, a redactor, and the decoder.
//
// Like encoding/json, it accepts duplicate keys, numbers of any size, invalid UTF-8 and unpaired
// surrogates. The latter two are decoded as U+FFFD. A decoder keeps the last value of a duplicate
// key: users of this package do the same or consider all values.
package jsonscan

// Text is the constraint for texts to scan: any string or byte slice.
type Text interface{ ~string | ~[]byte }

// MaxDepth is the highest accepted nesting of arrays and objects.
const MaxDepth = 10_000

// Valid reports whether text is one JSON value, which may be surrounded by white space.
func Valid[T Text](text T) bool {
	end, ok := Value(text, Space(text, 0))
	return ok && Space(text, end) == len(text)
}

// Space returns the index of the first byte from i on that is not white space.
func Space[T Text](text T, i int) int {
	for i < len(text) && text[i] <= ' ' && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// Value returns the index after the value that begins at i. If the text is not JSON, ok is false
// and end is the index of the mistake: len(text) if the text ends too early.
func Value[T Text](text T, i int) (end int, ok bool) {
	end, _, ok = value(text, i, 0)
	return end, ok
}

// Count is like Value, and also returns the number of elements of an array or members of an
// object.
func Count[T Text](text T, i int) (end, items int, ok bool) { return value(text, i, 0) }

func value[T Text](text T, i, depth int) (end, items int, ok bool) {
	if i >= len(text) {
		return len(text), 0, false
	}
	switch c := text[i]; c {
	case '"':
		end, _, ok = String(text, i)
		return end, 0, ok
	case '{':
		return object(text, i, depth+1)
	case '[':
		return array(text, i, depth+1)
	case 't':
		end, ok = word(text, i, "true")
	case 'f':
		end, ok = word(text, i, "false")
	case 'n':
		end, ok = word(text, i, "null")
	default:
		end, ok = number(text, i)
	}
	return end, 0, ok
}

func object[T Text](text T, i, depth int) (end, items int, ok bool) {
	if depth > MaxDepth {
		return i, 0, false
	}
	if i = Space(text, i+1); i < len(text) && text[i] == '}' {
		return i + 1, 0, true
	}
	for {
		if i >= len(text) || text[i] != '"' {
			return i, items, false
		}
		if i, _, ok = String(text, i); !ok {
			return i, items, false
		}
		if i = Space(text, i); i >= len(text) || text[i] != ':' {
			return i, items, false
		}
		if i, _, ok = value(text, Space(text, i+1), depth); !ok {
			return i, items, false
		}
		items++
		if i = Space(text, i); i >= len(text) {
			return i, items, false
		}
		switch text[i] {
		case ',':
			i = Space(text, i+1)
		case '}':
			return i + 1, items, true
		default:
			return i, items, false
		}
	}
}

func array[T Text](text T, i, depth int) (end, items int, ok bool) {
	if depth > MaxDepth {
		return i, 0, false
	}
	if i = Space(text, i+1); i < len(text) && text[i] == ']' {
		return i + 1, 0, true
	}
	for {
		if i, _, ok = value(text, i, depth); !ok {
			return i, items, false
		}
		items++
		if i = Space(text, i); i >= len(text) {
			return i, items, false
		}
		switch text[i] {
		case ',':
			i = Space(text, i+1)
		case ']':
			return i + 1, items, true
		default:
			return i, items, false
		}
	}
}

func word[T Text](text T, i int, word string) (end int, ok bool) {
	for j := range len(word) {
		if i+j >= len(text) || text[i+j] != word[j] {
			return i + j, false
		}
	}
	return i + len(word), true
}

func number[T Text](text T, i int) (end int, ok bool) {
	if i < len(text) && text[i] == '-' {
		i++
	}
	if i < len(text) && text[i] == '0' {
		i++
	} else if i, ok = digits(text, i); !ok {
		return i, false
	}
	if i < len(text) && text[i] == '.' {
		if i, ok = digits(text, i+1); !ok {
			return i, false
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if i, ok = digits(text, i); !ok {
			return i, false
		}
	}
	return i, true
}

// digits scans one or more digits.
func digits[T Text](text T, i int) (end int, ok bool) {
	start := i
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i, i > start
}

// Depth returns the nesting of arrays and objects: 0 for a number, 1 for []. It counts brackets,
// even in invalid JSON.
func Depth[T Text](text T) (deepest int) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			end, _, ok := String(text, i)
			if !ok {
				return deepest
			}
			i = end - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// Rough returns the index after the value that begins at i in invalid JSON, by its brackets and
// quotes alone; len(text) if they are never closed. It serves error messages only. Nothing may be
// decided by it.
func Rough[T Text](text T, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			if i = RoughString(text, i); depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i // the end of the enclosing value
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(text)
}

// RoughString is like Rough, for the string that begins at i, which may contain any bytes.
func RoughString[T Text](text T, i int) int {
	for i++; i < len(text); {
		switch end, _, ok := String(text, i-1); {
		case ok || end >= len(text):
			return end
		case text[end] == '\\':
			i = end + 2
		default:
			i = end + 1
		}
	}
	return len(text)
}
