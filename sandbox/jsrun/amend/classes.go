package amend

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/rangetable"
)

// hasClass reports whether a regular expression contains \p{…} or \P{…}.
func hasClass(pattern string) bool {
	return strings.Contains(pattern, `\p{`) || strings.Contains(pattern, `\P{`)
}

// classPieces matches the classes of a pattern, and the characters that determine their context.
var classPieces = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)\\[pP]\{[^}]*\}|\\.|[\[\]]`)
})

// SpellOut replaces the classes \p{…} and \P{…} of a pattern with the flag u by ranges of
// characters. It rejects unsupported flags.
func SpellOut(pattern, flags string) (string, error) {
	for _, f := range [][2]string{{"v", "use u, with alternatives for sets"}, {"d", "use match.index and the lengths of the groups"}} {
		if strings.Contains(flags, f[0]) {
			return "", fmt.Errorf("the flag %s is not supported here: %s", f[0], f[1])
		}
	}
	if strings.Count(flags, "u") != 1 || !hasClass(pattern) {
		return pattern, nil
	}
	within := false
	var wrong error
	pattern = classPieces().ReplaceAllStringFunc(pattern, func(piece string) string {
		switch {
		case piece == "[" || piece == "]":
			within = piece == "["
		case len(piece) > 3:
			ranges, err := classRanges(piece[3:len(piece)-1], piece[1] == 'P')
			wrong = cmp.Or(wrong, err)
			if within {
				return ranges
			}
			return "[" + ranges + "]"
		}
		return piece
	})
	return pattern, wrong
}

// shortNames maps short names of scripts and properties to long ones.
var shortNames = map[string]string{
	"Latn": "Latin", "Grek": "Greek", "Cyrl": "Cyrillic", "Arab": "Arabic", "Hebr": "Hebrew", "Hani": "Han",
	"Hira": "Hiragana", "Kana": "Katakana", "Hang": "Hangul", "Thai": "Thai", "Deva": "Devanagari",
	"Alpha": "Alphabetic", "Upper": "Uppercase", "Lower": "Lowercase",
}

// properties are those that packages regexp/syntax and unicode do not know, most of them about
// emoji in Unicode 16, in the syntax of regexp/syntax.
//
//go:embed properties.txt
var properties string

// classRanges returns the characters of the class called name, or all others. Package
// regexp/syntax knows categories and scripts, and merges ranges.
func classRanges(name string, negated bool) (string, error) {
	known := name
	switch kind, value, _ := strings.Cut(name, "="); kind {
	case "Script", "sc", "Script_Extensions", "scx", "General_Category", "gc":
		known = value
	}
	known = cmp.Or(shortNames[known], known)
	var class strings.Builder
	if _, after, ok := strings.Cut("\n"+properties, "\n"+known+" "); ok {
		line, _, _ := strings.Cut(after, "\n")
		class.WriteString(line)
	}
	for _, table := range []*unicode.RangeTable{unicode.Properties[known], unicode.Properties["Other_"+known]} {
		if table != nil {
			rangetable.Visit(table, func(r rune) { fmt.Fprintf(&class, `\x{%x}`, r) })
		}
	}
	if class.Len() == 0 {
		class.WriteString(`\p{` + known + `}`)
	}
	bracket := "["
	if negated {
		bracket = "[^"
	}
	set, err := syntax.Parse(bracket+class.String()+"]", syntax.Perl)
	if err != nil {
		return "", fmt.Errorf(`invalid property name in \p{%s}`, name)
	}
	switch set.Op {
	case syntax.OpLiteral: // a single character
		set.Rune = append(set.Rune, set.Rune[0])
	case syntax.OpAnyChar:
		set.Rune = []rune{0, unicode.MaxRune}
	}
	var ranges strings.Builder
	for i := 0; i < len(set.Rune); i += 2 {
		fmt.Fprintf(&ranges, `\u{%x}-\u{%x}`, set.Rune[i], set.Rune[i+1])
	}
	return ranges.String(), nil
}
