package run

import (
	"regexp"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// namedTools returns the functions of s with names among the words of a script, if it cannot use
// other functions of the module of s. It returns nil if the script may use any of them, or names
// one that does not exist, since the error lists the existing ones.
func namedTools(code string, words map[string]bool, s *discovery.Server) map[string]bool {
	tools := make(map[string]bool)
	for _, t := range s.Tools {
		if words[t.Func] {
			tools[t.Func] = true
		}
	}
	paths := 0
	for range occurrences(code, "servers/"+s.Folder) {
		paths++
	}
	for _, m := range importClause().FindAllStringSubmatch(code, -1) {
		if m[2] != s.Folder {
			continue
		}
		paths--
		for item := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(m[1]), ","), ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(item), " ")
			if !tools[name] {
				return nil
			}
		}
	}
	if paths != 0 {
		return nil
	}
	for rest := range occurrences(code, s.Namespace) {
		if member, text := memberOf(rest); !text && !tools[member] {
			return nil
		}
	}
	return tools
}

// importClause is an import of names from the module of a server.
var importClause = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bimport\s*\{([^{}]*)\}\s*from\s*["'](?:\./|@/|/)?servers/([^"'/.]+)["']`)
})

// memberOf returns the member that follows a word in code, if any. text reports that
// the word is part of a string or a path.
func memberOf(rest string) (member string, text bool) {
	switch {
	case strings.HasPrefix(rest, "'"), strings.HasPrefix(rest, `"`):
		return "", true
	case strings.HasPrefix(rest, " "):
		switch firstWord(strings.TrimLeft(rest, " ")) {
		case "", "in", "of", "instanceof", "as", "satisfies":
			return "", false
		}
		return "", true
	case strings.HasPrefix(rest, "?."):
		return firstWord(rest[2:]), false
	case strings.HasPrefix(rest, "."):
		return firstWord(rest[1:]), false
	}
	return "", false
}

// firstWord returns the word at the beginning of text.
func firstWord(text string) string {
	if end := strings.IndexFunc(text, func(r rune) bool { return !partOfName(r) }); end >= 0 {
		return text[:end]
	}
	return text
}

// wordsOf returns the words of code.
func wordsOf(code string) map[string]bool {
	words := make(map[string]bool)
	for word := range strings.FieldsFuncSeq(code, func(r rune) bool { return !partOfName(r) }) {
		words[word] = true
	}
	return words
}
