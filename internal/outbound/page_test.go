package outbound

import (
	"strings"
	"testing"
)

func TestPages(t *testing.T) {
	for page, want := range map[string]string{
		"https://a.example/b?c": "a.example", "http://127.0.0.1:80/": "127.0.0.1:80", "https://xn--80ak6aa92e.com/": "xn--80ak6aa92e.com",
		"https://evil.example/@bank.example": "evil.example", "https://[::1]:8080/x": "[::1]:8080",
		"javascript:alert(1)": "", "file:///etc/passwd": "", "https:///x": "", "": "", "vscode://x": "", "data:text/html,x": "",
		"https://bank.example@evil.example/": "", "https://bank.example:443@evil.example/": "", "https://@evil.example/": "",
		"https://bank.example\\@evil.example/": "", "https://evil.example/\n\u202e": "", "https://evil.example/ x": "", "https://evil.example/\x1b[2J": "",
		"https://b\u0430nk.example/": "", "https://bank.example%2eevil.example/": "", "https://evil.example/\u200b": "",
	} {
		if got, err := Page(page); got != want || (err == nil) != (want != "") {
			t.Errorf("Page(%q) = %q, %v, want %q", page, got, err, want)
		}
	}
}

func FuzzPage(f *testing.F) {
	f.Add("https://user:pass@host/\x1b")
	f.Fuzz(func(t *testing.T, page string) {
		host, err := Page(page)
		if err == nil && (host == "" || strings.ContainsAny(host, "@\\/ %") || !strings.Contains(page, "//"+host)) {
			t.Errorf("Page(%q) = %q", page, host)
		}
	})
}
