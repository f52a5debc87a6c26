package jsrun

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever a URL is parsed from, what comes of it is ASCII, and parsing that
// again changes nothing.
func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"http://a/b?c#d", "HTTPS://U:p@EXAMPLE.com:443/../x/./y%2e", "file:///C|/x", "mailto:a@b", "http://[::1]:3/", "http://münchen.de/ä",
		"http://0x7f.1", "a:b", "//x", "data:,x y", "x:/..//", "http://a:b@/", "\x00http://\xff"} {
		f.Add(seed, "https://e.com/a/b?c")
	}
	f.Fuzz(func(t *testing.T, input, base string) {
		if _, err := parseURL(base, ""); err != nil {
			base = ""
		}
		u, err := parseURL(input, base)
		if err != nil || !utf8.ValidString(input) || !utf8.ValidString(base) {
			return
		}
		href := u.Href(false)
		if strings.ContainsFunc(href, func(r rune) bool { return r >= utf8.RuneSelf }) {
			t.Fatalf("parseURL(%q, %q) = %q, not ASCII", input, base, href)
		}
		again, err := parseURL(href, "")
		if err != nil {
			t.Fatalf("parseURL(%q) of %q: %v", href, input, err)
		}
		if got := again.Href(false); got != href {
			t.Fatalf("parseURL(%q) = %q, of %q", href, got, input)
		}
	})
}

// Whatever a pattern is, spelling it out leaves no class behind, and what it
// writes for a known class is a class that Go can read.
func FuzzSpellOut(f *testing.F) {
	for _, seed := range []string{`\p{L}+`, `[^\P{Lu}a-z]`, `\p{Script=Greek}`, `\p{RGI_Emoji}`, `\p{`, `\\p{L}`, `[\p{Any}]`} {
		f.Add(seed, "u")
	}
	f.Fuzz(func(t *testing.T, pattern, flags string) {
		spelled, err := spellOut(pattern, flags)
		if err == nil && !hasClass(pattern) && spelled != pattern {
			t.Fatalf("spellOut(%q, %q) = %q", pattern, flags, spelled)
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
			spelled, err := spellOut(`^\`+letter+"{"+class+"}$", "u")
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
