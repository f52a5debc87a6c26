package redact

import (
	b64 "encoding/base64" // base64 is a class in this package
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// Readable reports whether a secret of the given kind may be a text that somebody wrote
// in the form of a secret, to hide it from an approver: it has a space, or words
// between its other characters. A single word, such as many passwords, is not readable,
// nor is personal data.
func Readable(kind, value string) bool {
	switch {
	case kind == "private_key":
		return !isKey(value)
	case rank(kind) == 0:
		return false
	case strings.ContainsFunc(value, unicode.IsSpace):
		return true
	case kind == "jwt" && !hasJWTHeader(value):
		return true
	}
	words, long := 0, 0
	parts := strings.FieldsFunc(withoutPrefix(value), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, part := range parts {
		if !isWord(part) {
			continue
		}
		if words++; len(part) >= 4 {
			long++
		}
	}
	return words >= 2 && long >= 1
}

// isWord reports whether a part of a value has two letters or more, all of one case or
// only the first in upper case, and nothing else.
func isWord(part string) bool {
	return len(part) > 1 && !strings.ContainsFunc(part, func(r rune) bool { return !unicode.IsLetter(r) }) &&
		(part == strings.ToLower(part) || part == strings.ToUpper(part) || part[1:] == strings.ToLower(part[1:]))
}

// withoutPrefix returns a value without the longest published beginning of a token.
func withoutPrefix(value string) string {
	longest := 0
	for _, p := range prefixes {
		for _, begin := range p.begins {
			if len(begin) > longest && strings.HasPrefix(value, begin) {
				longest = len(begin)
			}
		}
	}
	return value[longest:]
}

// isKey reports whether the lines of a private key between its frame are base64.
func isKey(value string) bool {
	return !slices.ContainsFunc(strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' || r == '\\' }), func(line string) bool {
		line = strings.TrimSpace(strings.TrimPrefix(line, "n")) // of an escaped line break
		if strings.HasPrefix(line, "-----") || line == "" {
			return false
		}
		return strings.ContainsFunc(line, func(r rune) bool {
			return r > '~' || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+/=", r)
		}) || len(line) < 40 && isWord(line)
	})
}

// hasJWTHeader reports whether a value begins like a JSON Web Token: with an object
// that names an algorithm.
func hasJWTHeader(value string) bool {
	first, _, _ := strings.Cut(value, ".")
	text, err := b64.RawURLEncoding.DecodeString(first)
	var header struct{ Alg string }
	return err == nil && json.Unmarshal(text, &header) == nil && header.Alg != ""
}
