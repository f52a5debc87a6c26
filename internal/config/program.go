package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The schemes of references to programs. A whole value may be one, and ${…} contains one within a
// longer value.
const (
	commandScheme = "command://" // a program and its arguments
	opScheme      = "op://"      // an item of 1Password, which "op read" prints
)

// isProgramRef reports whether text is, or begins with, such a reference.
func isProgramRef(text string) bool {
	return strings.HasPrefix(text, commandScheme) || strings.HasPrefix(text, opScheme)
}

// program returns the command line of a reference. It is not interpreted by a shell.
func program(reference string) ([]string, error) {
	if item, ok := strings.CutPrefix(reference, opScheme); ok {
		parts := strings.Split(item, "/")
		if len(parts) < 3 || slices.Contains(parts, "") {
			return nil, errors.New("op:// needs a vault, an item and a field: write op://vault/item/field")
		}
		return []string{"op", "read", "--no-newline", reference}, nil
	}
	words, err := splitWords(strings.TrimPrefix(reference, commandScheme))
	if err == nil && (len(words) == 0 || words[0] == "") {
		err = errors.New("command:// names no program: write command://program argument")
	}
	return words, err
}

// splitWords splits at blanks outside quotes. There are no escapes: one kind of quote
// may contain the other.
func splitWords(text string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	begun := false
	for _, r := range text {
		switch {
		case r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, begun = r, true
		case r == ' ' || r == '\t':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		case r < ' ':
			return nil, fmt.Errorf("command:// holds the control character %q", r)
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("command:// has a %c that is never closed", quote)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
