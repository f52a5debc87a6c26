package upstream

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// Messages keep the values of variables that configure where and how a server runs.
// They lose values that are secret by their names, their form, or their use.
func TestMessagesKeepPlainValues(t *testing.T) {
	environ := map[string]string{"HOME": "/home/ada", "USER": "ada.lovelace", "REGION": "eu-central-1", "STAGE": "production", "OTHER": "x9f3k2mm71", "WORD": "swordfish"}
	expand := func(s string) (string, error) {
		if s == "${keyring:word}" {
			return "keyringword", nil
		}
		return os.Expand(s, func(name string) string { return environ[name] }), nil
	}
	c := Config{Name: "s", Command: "run", Args: []string{"--dir", "${HOME}/notes", "--password", "${WORD}", "${OTHER}"},
		Env: map[string]string{"WHO": "${USER}", "AWS_REGION": "${REGION}", "MODE": "${STAGE}", "WORDS": "${keyring:word}"}}
	target, err := c.resolve(expand)
	if err != nil {
		t.Fatal(err)
	}
	const said = "ENOENT /home/ada/notes for ada.lovelace in eu-central-1, production: swordfish x9f3k2mm71 keyringword"
	got := target.Hide.InErr(errors.New(said)).Error()
	if want := "ENOENT /home/ada/notes for ada.lovelace in eu-central-1, production: ${WORD} ${OTHER} ${keyring:word}"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	c.Args, c.URL = nil, "https://ada:${STAGE}@example.com/mcp"
	if target, err = c.resolve(expand); err != nil {
		t.Fatal(err)
	}
	if got := target.Hide.In(said); strings.Contains(got, "production") {
		t.Errorf("a password in an address is shown: %s", got)
	}
}
