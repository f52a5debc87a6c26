package jsrun

import (
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
