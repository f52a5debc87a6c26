package jsonscan

import (
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// String returns the index after the string whose opening quote is at i, and whether it contains
// escapes. See Value for end and ok.
func String[T Text](text T, i int) (end int, escaped, ok bool) {
	for i++; ; {
		// Scan eight bytes at once, while none is a quote, a backslash or a control character.
		for i+8 <= len(text) {
			m := ending(word8(text, i))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
			break
		}
		for i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\' {
			i++
		}
		if i >= len(text) || text[i] < ' ' {
			return i, escaped, false
		}
		if text[i] == '"' {
			return i + 1, escaped, true
		}
		escaped = true
		n, ok := escape(text, i)
		if !ok {
			return min(n, len(text)), escaped, false
		}
		i = n
	}
}

// word8 reads eight bytes in little-endian order.
func word8[T Text](b T, i int) uint64 {
	_ = b[i+7]
	return uint64(b[i]) | uint64(b[i+1])<<8 | uint64(b[i+2])<<16 | uint64(b[i+3])<<24 |
		uint64(b[i+4])<<32 | uint64(b[i+5])<<40 | uint64(b[i+6])<<48 | uint64(b[i+7])<<56
}

// ending returns a word with the highest bit set in the first byte of w that is a quote, a
// backslash or a control character, or 0. Higher bits are undefined.
func ending(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, back := w^ones*'"', w^ones*'\\'
	return ((quote-ones)&^quote | (back-ones)&^back | (w-ones*' ')&^w) & tops
}

// escape returns the index after the escape at i. If it is invalid, ok is false and end is i, or
// len(text) if the text ends within it.
func escape[T Text](text T, i int) (end int, ok bool) {
	if i+1 >= len(text) {
		return len(text), false
	}
	switch text[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, true
	case 'u':
		for j := i + 2; j < i+6; j++ {
			if j >= len(text) {
				return j, false
			}
			if hexValue(text[j]) < 0 {
				return i, false
			}
		}
		return i + 6, true
	}
	return i, false
}

func hexValue(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// Char decodes the character at i inside a string, and returns the index after it. Invalid bytes
// and unpaired surrogates are U+FFFD.
func Char[T Text](text T, i int) (r rune, end int) {
	c := text[i]
	if c < utf8.RuneSelf && c != '\\' {
		return rune(c), i + 1
	}
	if c != '\\' {
		var buf [utf8.UTFMax]byte
		n := copy(buf[:], text[i:min(i+len(buf), len(text))])
		r, n = utf8.DecodeRune(buf[:n])
		return r, i + n
	}
	if end, ok := escape(text, i); !ok {
		return utf8.RuneError, max(end, i+1)
	}
	switch c = text[i+1]; c {
	case 'b':
		return '\b', i + 2
	case 'f':
		return '\f', i + 2
	case 'n':
		return '\n', i + 2
	case 'r':
		return '\r', i + 2
	case 't':
		return '\t', i + 2
	case 'u':
		r, i = unit(text, i), i+6
		if !utf16.IsSurrogate(r) {
			return r, i
		}
		if i+1 < len(text) && text[i] == '\\' && text[i+1] == 'u' {
			if end, ok := escape(text, i); ok {
				if both := utf16.DecodeRune(r, unit(text, i)); both != utf8.RuneError {
					return both, end
				}
			}
		}
		return utf8.RuneError, i
	}
	return rune(c), i + 2
}

// unit returns the code unit of the escape \uXXXX at i.
func unit[T Text](text T, i int) (r rune) {
	for j := i + 2; j < i+6; j++ {
		r = r<<4 | hexValue(text[j])
	}
	return r
}

// Unquote returns the content of a string literal as encoding/json decodes it. The result shares
// memory with the literal if there is nothing to decode. The literal must be valid.
func Unquote[T Text](literal T) T {
	inner := literal[1 : len(literal)-1]
	if plain(inner) {
		return inner
	}
	return T(AppendUnquoted(make([]byte, 0, len(inner)), literal))
}

// AppendUnquoted appends the content of a string literal to dst.
func AppendUnquoted[T Text](dst []byte, literal T) []byte {
	for i := 1; i < len(literal)-1; {
		if c := literal[i]; c < utf8.RuneSelf && c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		var r rune
		r, i = Char(literal[:len(literal)-1], i)
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// plain reports whether the content of a string needs no decoding.
func plain[T Text](inner T) bool {
	for i := 0; i < len(inner); {
		switch c := inner[i]; {
		case c == '\\':
			return false
		case c < utf8.RuneSelf:
			i++
		default:
			r, end := Char(inner, i)
			if r == utf8.RuneError && end == i+1 {
				return false
			}
			i = end
		}
	}
	return true
}

// Is reports whether a valid string literal decodes to text.
func Is[T Text](literal T, text string) bool {
	inner := literal[1 : len(literal)-1]
	if plain(inner) {
		return string(inner) == text
	}
	return string(Unquote(literal)) == text
}
