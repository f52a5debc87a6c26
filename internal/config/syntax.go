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

// parseSyntax parses data as JSON with comments. It reports a mistake to c and returns false.
func parseSyntax(c *collector) (hujson.Value, bool) {
	data := c.data
	o := scanOutline(data)
	if o.deep >= 0 {
		c.fail(o.deep, "nested more than %d levels deep: not a servers.json", maxDepth)
		return hujson.Value{}, false
	}
	// The parser requires a line break after a comment on the last line.
	v, err := hujson.Parse(append(bytes.Clone(data), '\n'))
	switch {
	case err == nil:
		return v, true
	case !errors.Is(err, io.ErrUnexpectedEOF):
		off := 0
		var line, column int
		if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr == nil {
			off = c.lines[min(max(line, 1), len(c.lines))-1] + column - 1
		}
		at, text := explainSyntax(data, off, errors.Unwrap(err))
		c.fail(at, "%s", text)
	case o.str >= 0:
		at, text := explainString(data[o.str:])
		c.fail(o.str+at, "%s", text)
	case o.comment >= 0:
		c.fail(o.comment, `this comment has no end: "*/" is missing`)
	case len(o.unclosed) > 0:
		at := o.unclosed[len(o.unclosed)-1]
		line, column := c.position(at)
		c.fail(len(data), "the file ends before the %q of line %d, column %d is closed", data[at], line, column)
	default:
		c.fail(0, emptyFile)
	}
	return hujson.Value{}, false
}

const emptyFile = `the file is empty: write {"mcpServers": {}} and put your servers in it, or type: broker import`

// explainSyntax describes what the parser found at off. It never shows a string of the file, which
// may be a secret.
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
		return off, explainWord(strings.TrimPrefix(msg, "invalid literal: "), rest)
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

// explainString finds the mistake in an invalid JSON string.
func explainString(s []byte) (int, string) {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return 0, "this string is not valid JSON"
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

// explainWord explains an invalid word without quotes. It shows the word only if it is
// close to a valid one, since it may be a secret.
func explainWord(word string, rest []byte) string {
	after := bytes.TrimLeft(rest[min(len(word), len(rest)):], " \t\r\n")
	if hint := didYouMean(word, []string{"true", "false", "null"}); hint != "" {
		return quote(word) + " is not a JSON value" + hint
	}
	if bytes.HasPrefix(after, []byte(":")) {
		return "a key needs double quotes"
	}
	return "a text needs double quotes"
}

// An outline contains the offsets of unbalanced parts of a file.
type outline struct {
	unclosed []int // the unclosed brackets, outermost first
	str      int   // the unclosed string, or -1
	comment  int   // the unclosed comment, or -1
	deep     int   // where the nesting becomes too deep, or -1
}

func scanOutline(data []byte) outline {
	o := outline{str: -1, comment: -1, deep: -1}
	for i := 0; i < len(data); i++ {
		at := i
		switch data[i] {
		case '"':
			if i = skipString(data, i); i >= len(data) {
				o.str = at
			}
		case '/':
			if i = skipComment(data, i); i >= len(data) && data[at+1] == '*' {
				o.comment = at
			}
		case '{', '[':
			if o.unclosed = append(o.unclosed, i); len(o.unclosed) > maxDepth {
				o.deep = i
				return o
			}
		case '}', ']':
			if len(o.unclosed) > 0 {
				o.unclosed = o.unclosed[:len(o.unclosed)-1]
			}
		}
	}
	return o
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

// skipComment returns the offset of the last byte of the comment at i, or i without a
// comment.
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
