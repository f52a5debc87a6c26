package oauth

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStoreKeepsRecords(t *testing.T) {
	for name, ring := range map[string]*memory{"keyring": {}, "file": {err: ErrNoKeyring}, "small keyring": {limit: 20}} {
		t.Run(name, func(t *testing.T) {
			s := storeIn(filepath.Join(t.TempDir(), "oauth"), ring)
			key := s.key("a/../b ü", "https://example.com/mcp")
			if strings.ContainsAny(key, "/. ") {
				t.Errorf("key %q is no name of a file", key)
			}
			if r, err := s.load(key); r != nil || err != nil || s.stamp(key) != "" {
				t.Errorf("before save: %v, %v", r, err)
			}
			want := &record{Server: "a", AccessToken: "t", Scopes: []string{"x"}}
			if err := s.save(key, want); err != nil {
				t.Fatal(err)
			}
			first := s.stamp(key)
			got, err := s.load(key)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("load (-want +got):\n%s%v", diff, err)
			}
			if first != s.stamp(key) {
				t.Error("reading changes the stamp")
			}
			if err := s.save(key, want); err != nil || first == s.stamp(key) {
				t.Errorf("saving the same again is not seen: %v", err)
			}
			if err := s.remove(key); err != nil || len(ring.values) != 0 {
				t.Errorf("remove: %v, %d entries left", err, len(ring.values))
			}
			if err := s.remove(key); err != nil {
				t.Errorf("second remove: %v", err)
			}
			left, err := os.ReadDir(s.scope)
			if err != nil || len(left) != 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

func TestRecordsAreKeptApart(t *testing.T) {
	s := &store{scope: "a"}
	keys := map[string]bool{s.key("n", "u"): true, s.key("n", "v"): true, s.key("m", "u"): true, s.key("N", "u"): true, (&store{scope: "b"}).key("n", "u"): true}
	if len(keys) != 5 {
		t.Errorf("keys = %v", keys)
	}
}

func TestDamagedFileIsNoSignIn(t *testing.T) {
	for _, text := range []string{"", "{", "null", `{"keyring":"oauth:x"}`} {
		s := storeIn(t.TempDir(), &memory{values: map[string]string{"oauth:x": "{"}})
		if err := os.WriteFile(filepath.Join(s.scope, "k.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := s.load("k"); r != nil || err != nil {
			t.Errorf("%q: %v, %v", text, r, err)
		}
	}
}

func TestKeyringThatFailsIsNotASignOut(t *testing.T) {
	ring := &memory{}
	s := storeIn(t.TempDir(), ring)
	if err := s.save("k", &record{AccessToken: "t"}); err != nil {
		t.Fatal(err)
	}
	ring.err = ErrNoKeyring // locked, or another session
	if r, err := s.load("k"); r != nil || !errors.Is(err, ErrNoKeyring) {
		t.Errorf("load = %v, %v", r, err)
	}
}

func TestSecretsOfTheUser(t *testing.T) {
	ring := &memory{values: map[string]string{"github token": "v", entryPrefix + "x": "not yours"}}
	if v, err := Secret(ring, "github token"); v != "v" || err != nil {
		t.Errorf("Secret = %q, %v", v, err)
	}
	for name, want := range map[string]string{
		"other one":       `broker auth set-secret "other one"`,
		entryPrefix + "x": "the broker's own",
		" ":               "needs a name",
		"a}b":             "braces",
	} {
		if v, err := Secret(ring, name); v != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Secret(%q) = %q, %v, want %q", name, v, err, want)
		}
	}
	if _, err := Secret(&memory{err: ErrNoKeyring}, "x"); !errors.Is(err, ErrNoKeyring) || !strings.Contains(err.Error(), "${VAR}") {
		t.Errorf("without a keyring: %v", err)
	}
}

func TestKeyringCanBeSwitchedOff(t *testing.T) {
	t.Setenv("BROKER_KEYRING", "off")
	k := SystemKeyring()
	if err := k.Set("x", "y"); !errors.Is(err, ErrNoKeyring) {
		t.Errorf("Set: %v", err)
	}
	if _, err := k.Get("x"); !errors.Is(err, ErrNoKeyring) {
		t.Errorf("Get: %v", err)
	}
	if err := k.Delete("x"); !errors.Is(err, ErrNoKeyring) {
		t.Errorf("Delete: %v", err)
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"github": "github", "a b": `"a b"`, `x"$y`: `"x\"\$y"`, "": ""} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestErrorCodesThatAreNone(t *testing.T) {
	for in, want := range map[string]string{"invalid_grant": "invalid_grant", "": "", "token S3CR3T is bad": "an error that is not an OAuth error code"} {
		if got := cleanCode(in); got != want {
			t.Errorf("cleanCode(%q) = %q", in, got)
		}
	}
}
