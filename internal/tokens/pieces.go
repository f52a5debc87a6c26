package tokens

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pieces yields the parts of text that tokens do not cross. They are the matches of this
// expression; each function below implements an alternative:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			n := word(text)
			if n == 0 {
				n = run(text, unicode.IsNumber, 3)
			}
			if n == 0 {
				n = marks(text)
			}
			if n == 0 {
				n = space(text)
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}

// run returns the length in bytes of the leading characters of a class, of which at most limit
// count; 0 means no limit.
func run(s string, class func(rune) bool, limit int) int {
	count := 0
	for i, r := range s {
		if !class(r) || limit > 0 && count == limit {
			return i
		}
		count++
	}
	return len(s)
}

// upper and lower report whether a letter can begin and end a word. Letters without case and marks
// do both.
func upper(r rune) bool { return unicode.In(r, unicode.Lu, unicode.Lt) || caseless(r) }
func lower(r rune) bool { return unicode.Is(unicode.Ll, r) || caseless(r) }

func caseless(r rune) bool { return unicode.In(r, unicode.Lm, unicode.Lo, unicode.M) }

// word returns the length of a word at the beginning of s, including a preceding character that is
// neither a letter nor a number nor a line end.
func word(s string) int {
	first, n := utf8.DecodeRuneInString(s)
	if unicode.IsNumber(first) || first == '\r' || first == '\n' {
		return 0
	}
	starts := []int{0}
	if !unicode.IsLetter(first) {
		starts = []int{n, 0}
	}
	for _, ends := range []func(string) int{mixed, shout} {
		for _, start := range starts {
			if n := ends(s[start:]); n > 0 {
				n += start
				return n + contraction(s[n:])
			}
		}
	}
	return 0
}

// mixed returns the length of letters that end with lower ones.
func mixed(s string) int {
	high := run(s, upper, 0)
	if low := run(s[high:], lower, 0); low > 0 {
		return high + low
	}
	// A letter that can end a word may have been counted as its beginning.
	for high > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:high])
		if lower(r) {
			return high
		}
		high -= n
	}
	return 0
}

// shout returns the length of letters that begin with upper ones.
func shout(s string) int {
	high := run(s, upper, 0)
	if high == 0 {
		return 0
	}
	return high + run(s[high:], lower, 0)
}

// contraction returns the length of an ending such as 'll at the beginning of s.
func contraction(s string) int {
	if !strings.HasPrefix(s, "'") {
		return 0
	}
	for _, end := range []string{"s", "t", "re", "ve", "m", "ll", "d"} {
		if len(s) > len(end) && strings.EqualFold(s[1:1+len(end)], end) {
			return 1 + len(end)
		}
	}
	if strings.HasPrefix(s[1:], "ſ") { // it is also an s
		return 1 + len("ſ")
	}
	return 0
}

func isMark(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.IsLetter(r) && !unicode.IsNumber(r)
}

// marks returns the length of punctuation at the beginning of s, with a preceding space and
// following line ends.
func marks(s string) int {
	start := 0
	if s[0] == ' ' {
		start = 1
	}
	n := run(s[start:], isMark, 0)
	if n == 0 {
		return 0
	}
	n += start
	return n + run(s[n:], func(r rune) bool { return r == '\r' || r == '\n' || r == '/' }, 0)
}

// space returns the length of white space at the beginning of s: up to the last line end, or all
// at the end of the text, or all but the last character, which belongs to the next piece.
func space(s string) int {
	n := run(s, unicode.IsSpace, 0)
	if end := strings.LastIndexAny(s[:n], "\r\n"); end >= 0 {
		return end + 1
	}
	if n == len(s) {
		return n
	}
	if _, last := utf8.DecodeLastRuneInString(s[:n]); last < n {
		return n - last
	}
	return n
}
