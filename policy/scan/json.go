package scan

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (w *walker) peek() byte {
	if w.pos < len(w.data) {
		return w.data[w.pos]
	}
	w.broken = true
	return 0
}

func (w *walker) blank() {
	for w.pos < len(w.data) {
		switch w.data[w.pos] {
		case ' ', '\n', '\t', '\r':
			w.pos++
		default:
			return
		}
	}
}

func (w *walker) eat(c byte) bool {
	if w.peek() != c {
		return false
	}
	w.pos++
	return true
}

func (w *walker) comma() bool {
	if w.eat(',') {
		return true
	}
	w.broken = true
	return false
}

// members calls visit at each value of an object, after its first brace was read.
func (w *walker) members(visit func(key string)) {
	for i := 0; ; i++ {
		w.blank()
		if w.broken || w.eat('}') {
			return
		}
		if i > 0 && !w.comma() {
			return
		}
		w.blank()
		if w.peek() != '"' {
			w.broken = true
			return
		}
		key := w.string()
		w.blank()
		if !w.eat(':') {
			w.broken = true
			return
		}
		visit(key)
	}
}

// string reads a string.
func (w *walker) string() string {
	start := w.pos
	escaped := w.skipString()
	if w.broken {
		return ""
	}
	raw := w.data[start:w.pos]
	if !escaped {
		return raw[1 : len(raw)-1]
	}
	if s, ok := plain(raw[1 : len(raw)-1]); ok {
		return s
	}
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		w.broken = true
	}
	return s
}

// skipString goes behind a string and reports whether it has escapes.
func (w *walker) skipString() (escaped bool) {
	w.pos++
	for short := min(w.pos+16, len(w.data)); w.pos < short; w.pos++ { // most are
		switch w.data[w.pos] {
		case '"':
			w.pos++
			return false
		case '\\':
			short = 0
			w.pos--
		}
	}
	for quote := -1; w.pos < len(w.data); {
		if quote < w.pos { // else it is still the next one, however many escapes stand in front of it
			next := strings.IndexByte(w.data[w.pos:], '"')
			if next < 0 {
				break
			}
			quote = w.pos + next
		}
		back := strings.IndexByte(w.data[w.pos:quote], '\\')
		if back < 0 {
			w.pos = quote + 1
			return escaped
		}
		escaped = true
		w.pos += back + 2
	}
	w.pos = len(w.data)
	w.broken = true
	return escaped
}

// skip goes behind a value.
func (w *walker) skip(depth int) {
	w.blank()
	if depth > maxDepth {
		w.broken = true
		return
	}
	switch w.peek() {
	case '"':
		w.skipString()
	case '{', '[':
		open := 0
		for w.pos < len(w.data) {
			c := w.data[w.pos]
			if c == '"' {
				w.skipString()
				continue
			}
			w.pos++
			switch c {
			case '{', '[':
				open++
			case '}', ']':
				if open--; open == 0 {
					return
				}
			}
		}
		w.broken = true
	default:
		n := strings.IndexAny(w.data[w.pos:], ",]} \n\t\r")
		if n < 0 {
			n = len(w.data) - w.pos
		}
		if n == 0 {
			w.broken = true
		}
		w.pos += n
	}
}

// plain decodes a string, unless it has characters written as pairs.
func plain(s string) (string, bool) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' {
			if i++; i == len(s) {
				return "", false
			}
			switch s[i] {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'r':
				c = '\r'
			case '"', '\\', '/':
				c = s[i]
			case 'u':
				n, err := strconv.ParseUint(s[min(i+1, len(s)):min(i+5, len(s))], 16, 16)
				if err != nil || i+5 > len(s) || n >= 0xd800 && n < 0xe000 {
					return "", false
				}
				out = utf8.AppendRune(out, rune(n))
				i += 4
				continue
			default:
				return "", false
			}
		}
		out = append(out, c)
	}
	return string(out), utf8.Valid(out)
}
