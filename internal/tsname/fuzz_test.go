package tsname

import (
	"strings"
	"testing"
)

func FuzzNames(f *testing.F) {
	for _, s := range []string{"", ".", "..", "get_user", "GET-User", "2fa", "then", "__proto__", "Größe", "ǅx", "a\x00b", "\xff\xfe", "\u202e", "🙂", "await", "servers", "x2", "x_2", "ß", "ᾳ"} {
		f.Add(s, strings.ToUpper(s))
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range []string{a, b} {
			for what, name := range map[string]string{"Func": Func(s), "Namespace": Namespace(s), "Type": Type(s)} {
				if !IsIdentifier(name) || reserved[name] || wrapperNames[name] {
					t.Errorf("%s(%q) = %q is not a free identifier", what, s, name)
				}
			}
			if name := Namespace(s); globals[name] {
				t.Errorf("Namespace(%q) = %q hides a global", s, name)
			}
			if p := Prefix(s); p == "" || strings.Trim(p, ascii+"_") != "" {
				t.Errorf("Prefix(%q) = %q", s, p)
			}
			if d := Folder(s); strings.Trim(d, ".") == "" || strings.Trim(d, ascii+"._-") != "" {
				t.Errorf("Folder(%q) = %q", s, d)
			}
			if n := Snake(s); n != "" && (strings.Trim(n, ascii+"_") != "" || n[0] <= '9' || n != strings.ToLower(n)) {
				t.Errorf("Snake(%q) = %q", s, n)
			}
		}
		var set Set
		seen := make(map[string]bool)
		for _, s := range []string{a, b, a, b, a + "_2", b + "_2", a} {
			name := set.Add(s)
			if fold := strings.ToLower(name); seen[fold] {
				t.Errorf("of %q and %q, %q is handed out twice", a, b, name)
			} else {
				seen[fold] = true
			}
		}
	})
}

const ascii = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
