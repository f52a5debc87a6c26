package amend

import (
	"regexp"
	"strings"
	"testing"
)

// Whatever a pattern is, spelling it out leaves no class behind, and what it
// writes for a known class is a class that Go can read.
func FuzzSpellOut(f *testing.F) {
	for _, seed := range []string{`\p{L}+`, `[^\P{Lu}a-z]`, `\p{Script=Greek}`, `\p{RGI_Emoji}`, `\p{`, `\\p{L}`, `[\p{Any}]`} {
		f.Add(seed, "u")
	}
	f.Fuzz(func(t *testing.T, pattern, flags string) {
		spelled, err := SpellOut(pattern, flags)
		if err == nil && !hasClass(pattern) && spelled != pattern {
			t.Fatalf("SpellOut(%q, %q) = %q", pattern, flags, spelled)
		}
	})
}

func TestEveryCategoryAndScriptIsSpelledOut(t *testing.T) {
	for class, want := range map[string][2]string{ // in it, not in it
		"L": {"é", "1"}, "Letter": {"é", "1"}, "Nd": {"٣", "x"}, "sc=Cyrl": {"ж", "z"}, "Alphabetic": {"ª", "-"}, "White_Space": {"\u00a0", "x"},
		"Uppercase": {"Ⓐ", "a"}, "Emoji": {"👍", "x"}, "ASCII": {"x", "é"}, "Zl": {"\u2028", "x"},
	} {
		for _, negated := range []bool{false, true} {
			letter := "p"
			if negated {
				letter = "P"
			}
			spelled, err := SpellOut(`^\`+letter+"{"+class+"}$", "u")
			if err != nil {
				t.Errorf("%s: %v", class, err)
				continue
			}
			re, err := regexp.Compile(strings.ReplaceAll(spelled, `\u`, `\x`))
			if err != nil {
				t.Errorf("%s: %v", class, err)
				continue
			}
			if re.MatchString(want[0]) == negated || re.MatchString(want[1]) != negated {
				t.Errorf("\\%s{%s}: %q %v, %q %v", letter, class, want[0], re.MatchString(want[0]), want[1], re.MatchString(want[1]))
			}
		}
	}
}
