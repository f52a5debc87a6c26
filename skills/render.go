package skills

import (
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// argumentRef is where a body refers to the arguments: all of them, or one.
var argumentRef = lazyregexp.New(`\$ARGUMENTS\[([0-9]{1,3})\]|\$ARGUMENTS\b|\$([0-9]{1,3})\b`)

// Render puts arguments into a body: $ARGUMENTS becomes all of them as they are
// written, $ARGUMENTS[N] and $N the word with that number, counted from 0. Words
// are separated as a shell does. A number without a word stays as it is. A
// body that refers to none gets the arguments at its end.
func Render(body, arguments string) string {
	if !argumentRef.MatchString(body) {
		if strings.TrimSpace(arguments) == "" {
			return body
		}
		return body + "\n\nARGUMENTS: " + arguments
	}
	words := shellWords(arguments)
	return argumentRef.ReplaceAllStringFunc(body, func(found string) string {
		digits := strings.Trim(strings.TrimPrefix(found, "$ARGUMENTS"), "$[]")
		if digits == "" {
			return arguments
		}
		if n, err := strconv.Atoi(digits); err == nil && n < len(words) {
			return words[n]
		}
		return found
	})
}

// shellWords divides a text at blanks that are not quoted. A quote without an
// end reaches to the end of the text.
func shellWords(s string) []string {
	var words []string
	var word strings.Builder
	inWord := false
	var quote rune
	escaped := false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}
