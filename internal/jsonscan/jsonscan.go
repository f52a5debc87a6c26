// Package jsonscan steps over JSON without decoding it. It accepts exactly what
// encoding/json accepts, so that packages that look at the same bytes never disagree
// about them: a policy, a scanner of definitions, a redactor, and whoever decodes the
// value in the end.
//
// Like encoding/json, it accepts keys that occur more than once, numbers of any size,
// bytes that are not UTF-8 and halves of surrogate pairs. The latter two are read as
// U+FFFD. Of a key that occurs more than once, a decoder keeps the last value: users of
// this package either do the same or look at all of them.
package jsonscan

// Text is what can be scanned.
type Text interface{ ~string | ~[]byte }

// MaxDepth is the number of nested arrays and objects that are accepted.
const MaxDepth = 10_000

// Valid reports whether text is one JSON value, with white space around it.
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

// Value returns the index after the value that begins at i. If the text is not JSON, ok
// is false, and end is where the mistake is: len(text) if the text ends too early.
func Value[T Text](text T, i int) (end int, ok bool) {
	end, _, ok = value(text, i, 0)
	return end, ok
}

// Count is like Value, and returns the number of elements of an array or members of an
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

// digits goes behind one or more digits.
func digits[T Text](text T, i int) (end int, ok bool) {
	start := i
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i, i > start
}

// Depth returns how deep arrays and objects are nested: 0 for a number, 1 for []. It
// counts brackets, also in a text that is not JSON.
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

// Rough returns the index after the value that begins at i in a text that is not valid
// JSON, by its brackets and quotes alone; len(text) if they are never closed. It finds
// out which message was broken, and what to quote of it. Nothing may be decided by it.
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
				return i // the end of what the value is in
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

// RoughString is Rough for the string that begins at i, which may have any bytes in it.
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
