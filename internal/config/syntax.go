package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tailscale/hujson"
)

// maxDepth bounds nesting, since the parser recurses; a configuration needs
// about five levels.
const maxDepth = 200

// parseSyntax reads data as JSON with comments. A mistake goes to c, at its
// place, and the answer is false.
func parseSyntax(c *collector) (hujson.Value, bool) {
	data := c.data
	open, deep := scanBrackets(data)
	if deep >= 0 {
		c.fail(deep, "nested more than %d levels deep: this is no servers.json", maxDepth)
		return hujson.Value{}, false
	}
	// A line comment on the last line needs no line break.
	v, err := hujson.Parse(append(bytes.Clone(data), '\n'))
	if err == nil {
		return v, true
	}
	off := 0
	var line, column int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr == nil {
		off = c.lines[min(max(line, 1), len(c.lines))-1] + column - 1
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && len(open) > 0:
		at := open[len(open)-1]
		l, col := c.position(at)
		c.fail(len(data), "the file ends before the %q of line %d, column %d is closed", data[at], l, col)
	case errors.Is(err, io.ErrUnexpectedEOF):
		c.fail(len(data), "the file ends in the middle of a value, a string or a comment")
	default:
		off, text := explainSyntax(data, off, errors.Unwrap(err))
		c.fail(off, "%s", text)
	}
	return hujson.Value{}, false
}

// explainSyntax says in our words what the parser found at off. It never
// shows a string of the file, which may be a secret.
func explainSyntax(data []byte, off int, cause error) (int, string) {
	msg := "invalid JSON"
	if cause != nil {
		msg = cause.Error()
	}
	rest := data[min(max(off, 0), len(data)):]
	switch {
	case bytes.HasPrefix(rest, []byte(`"`)) && strings.Contains(msg, "invalid literal"):
		at, text := explainString(rest)
		return off + at, text
	case strings.Contains(msg, "invalid literal"):
		word := strings.TrimPrefix(msg, "invalid literal: ")
		return off, fmt.Sprintf("%s is no JSON value%s: a text needs double quotes", quote(word),
			didYouMean(word, []string{"true", "false", "null"}))
	case bytes.HasPrefix(rest, []byte("'")):
		return off, "a single quote: JSON has only double quotes"
	case bytes.HasPrefix(rest, []byte("#")):
		return off, `"#" starts no comment here: write "//"`
	case strings.Contains(msg, "after object value"):
		return off, `"," or "}" is expected here: is a comma missing before it?`
	case strings.Contains(msg, "after array value"):
		return off, `"," or "]" is expected here: is a comma missing before it?`
	case strings.Contains(msg, "after object name"):
		return off, `":" is expected after a key`
	case strings.Contains(msg, "object name"):
		return off, "a key in double quotes is expected here"
	case strings.Contains(msg, "after top-level value"):
		return off, "the file goes on after its object has ended: is there a bracket too many?"
	}
	return off, msg
}

// explainString finds what is wrong in a string that is no valid JSON.
func explainString(s []byte) (int, string) {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return 0, "this string is no valid JSON"
		case c == '\\' && i+1 < len(s):
			i++
			hexDigits := s[i] == 'u' && i+4 < len(s) && isHex(s[i+1:i+5])
			if !hexDigits && !bytes.ContainsRune([]byte(`"\/bfnrt`), rune(s[i])) {
				return i - 1, `a backslash in a string is written \\ (in a path, / works too)`
			}
		case c == '\n' || c == '\r':
			return i, `the line ends before the string does: is a " missing?`
		case c < ' ':
			return i, fmt.Sprintf(`a control character in a string is written \u%04x`, c)
		}
	}
	return 0, "this string has no end"
}

func isHex(s []byte) bool {
	return len(bytes.Trim(s, "0123456789abcdefABCDEF")) == 0
}

// scanBrackets returns the offsets of the brackets that are still open at the
// end of data, outermost first, and where the nesting gets too deep, else -1.
func scanBrackets(data []byte) (open []int, deep int) {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = skipString(data, i)
		case '/':
			i = skipComment(data, i)
		case '{', '[':
			if open = append(open, i); len(open) > maxDepth {
				return open, i
			}
		case '}', ']':
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
	return open, -1
}

// skipString returns the offset of the quote that ends the string at i.
func skipString(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// skipComment returns the offset of the last byte of the comment at i, or i if
// there is none.
func skipComment(data []byte, i int) int {
	var end string
	switch {
	case bytes.HasPrefix(data[i:], []byte("//")):
		end = "\n"
	case bytes.HasPrefix(data[i:], []byte("/*")):
		end = "*/"
	default:
		return i
	}
	n := bytes.Index(data[i+2:], []byte(end))
	if n < 0 {
		return len(data)
	}
	return i + 2 + n + len(end) - 1
}
