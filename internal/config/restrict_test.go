package config_test

import (
	"slices"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

func TestRestrictedServersReadWhatIsNamed(t *testing.T) {
	from := config.Sources{
		Env:     func(name string) (string, bool) { return "value of " + name, true },
		Keyring: func(name string) (string, error) { return "secret " + name, nil },
	}
	for _, c := range []struct {
		text, want string
		withheld   []string
	}{
		{"plain $5", "plain $5", nil},
		{"a ${MINE} b", "a value of MINE b", nil},
		{"a ${env:MINE} b", "a value of MINE b", nil},
		{"${MINE:-text}", "value of MINE", nil},
		{"a ${OTHER} b", "a  b", []string{"OTHER"}},
		{"${OTHER:-text}", "text", nil},
		{"${keyring:token}", "", []string{"keyring:token"}},
		{"$${OTHER}", "${OTHER}", nil},
		{"${OTHER:-$}{SECRET}", "${SECRET}", nil},
		{"${OTHER:-${SECRET}}", "${SECRET}", nil},
		{"$${OTHER:-$}${MINE}", "${OTHER:-$}value of MINE", nil},
		{"${OTHER}{SECRET}${OTHER}", "{SECRET}", []string{"OTHER"}},
		{"${OTHER:-$$}{SECRET}", "$${SECRET}", nil},
	} {
		s := config.Server{
			Command: c.text, Dir: c.text, URL: c.text, Args: []string{c.text}, Env: map[string]string{"K": c.text}, Headers: map[string]string{"K": c.text},
			OAuth: config.OAuth{ClientID: c.text, ClientSecret: c.text},
		}
		got, withheld := s.Restricted([]string{"MINE"})
		if !slices.Equal(withheld, c.withheld) {
			t.Errorf("%q: withheld %q, want %q", c.text, withheld, c.withheld)
		}
		for _, text := range []string{got.Command, got.Dir, got.URL, got.Args[0], got.Env["K"], got.Headers["K"], got.OAuth.ClientID, got.OAuth.ClientSecret} {
			if out, err := from.Expand(text); err != nil || out != c.want {
				t.Errorf("%q expands to %q, %v, want %q", c.text, out, err, c.want)
			}
		}
		if s.Args[0] != c.text || s.Env["K"] != c.text {
			t.Errorf("%q: the server itself was changed", c.text)
		}
	}
	variables, secrets := config.Server{URL: "${B}${keyring:x}", Args: []string{"${A:-x}${B}"}}.Reads()
	if !slices.Equal(variables, []string{"A", "B"}) || !slices.Equal(secrets, []string{"x"}) {
		t.Errorf("Reads = %q, %q", variables, secrets)
	}
}
