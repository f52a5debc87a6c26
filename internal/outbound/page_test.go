package outbound

import (
	"net/url"
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

// A host that looks like another one is refused in every address.
func TestHostsThatReadLikeOthers(t *testing.T) {
	for _, c := range []string{"\uff0f", "\uff1f", "\uff03", "\uff20", "\uff1a", "\uff3c", "\uff05", "\u2100", "\u2105", "\u2044", "\u2215", "\ufe68", "\ufe56", "\ufe5f", "\u200b", "\u202e", "\U0001f512"} {
		for _, address := range []string{"https://bank.example" + c + "evil.example/mcp", "https://bank.example" + url.PathEscape(c) + "evil.example/mcp"} {
			u, err := url.Parse(address)
			if err != nil {
				continue // refused as well
			}
			if CheckHost(u) == nil {
				t.Errorf("CheckHost(%q) is nil", address)
			}
			if host, err := Page(address); err == nil {
				t.Errorf("Page(%q) = %q", address, host)
			}
			c := New(Options{Home: u, HomeOnly: true, MaxBytes: 1})
			if _, err := c.Get(address); err == nil || !strings.Contains(err.Error(), "is not allowed in a name") {
				t.Errorf("a request to %q: %v", address, err)
			}
		}
	}
	for _, address := range []string{"https://m\u00fcnchen.example/", "https://\u4f8b\u3048.\u30c6\u30b9\u30c8/", "https://\u0939\u093f\u0928\u094d\u0926\u0940.example/", "https://a-b_c.example:8443/", "http://[fe80::1%25eth0]:80/", "http://127.0.0.1/", "https://xn--mnchen-3ya.example/"} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckHost(u); err != nil {
			t.Errorf("CheckHost(%q): %v", address, err)
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
