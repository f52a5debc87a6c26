package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReferencesToPrograms(t *testing.T) {
	var asked [][]string
	from := Sources{
		Env: func(string) (string, bool) { return "", false },
		Program: func(reference string, argv []string) (string, error) {
			asked = append(asked, append([]string{reference}, argv...))
			if strings.Contains(reference, "fail") {
				return "", errors.New("it ended with exit status 1")
			}
			return "s3cret", nil
		},
	}
	for _, tt := range []struct {
		text, want string
		asked      []string
		err        string
	}{
		{text: "command://pass show 'git hub' \"it's\"", want: "s3cret", asked: []string{"command://pass show 'git hub' \"it's\"", "pass", "show", "git hub", "it's"}},
		{text: "Bearer ${command://pass show x}", want: "Bearer s3cret", asked: []string{"command://pass show x", "pass", "show", "x"}},
		{text: "op://work/git hub/token", want: "s3cret", asked: []string{"op://work/git hub/token", "op", "read", "--no-newline", "op://work/git hub/token"}},
		{text: "Bearer ${op://work/github/token}!", want: "Bearer s3cret!", asked: []string{"op://work/github/token", "op", "read", "--no-newline", "op://work/github/token"}},
		{text: "see op://work/github/token", want: "see op://work/github/token"},
		{text: "command://fail", err: "command://fail: it ended with exit status 1", asked: []string{"command://fail", "fail"}},
		{text: "command://", err: "names no program"},
		{text: `command://"" x`, err: "names no program"},
		{text: "command://x 'y", err: "never closed"},
		{text: "op://work/github", err: "op://vault/item/field"},
		{text: "${op://}", err: "op://vault/item/field"},
	} {
		asked = nil
		got, err := from.Expand(tt.text)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("Expand(%q) = %q, %v; want %q, %q", tt.text, got, err, tt.want, tt.err)
		}
		var want [][]string
		if tt.asked != nil {
			want = [][]string{tt.asked}
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("Expand(%q) asked (-want +got):\n%s", tt.text, diff)
		}
	}
	if _, err := (Sources{}).Expand("command://x"); err == nil || !strings.Contains(err.Error(), "not allowed here") {
		t.Errorf("without programs: %v", err)
	}
}

func TestServersThatRunPrograms(t *testing.T) {
	cfg := parse(t, `{"mcpServers": {
		"a": {"command": "x", "args": ["--key", "command://pass a"], "env": {"K": "op://v/i/f", "L": "${HOME}"}},
		"b": {"url": "https://h/mcp", "headers": {"Authorization": "Bearer ${command://pass b}", "X": "${keyring:k}"}}}}`)
	if _, secrets := cfg.Server("a").Reads(); !slices.Equal(secrets, []string{"command://pass a", "op://v/i/f"}) {
		t.Errorf("secrets %q", secrets)
	}
	// What a plugin has brought may read none of them.
	got, withheld := cfg.Server("b").Restricted(nil)
	if diff := cmp.Diff([]string{"command://pass b", "keyring:k"}, withheld); diff != "" || strings.Contains(fmt.Sprint(got), "command://") {
		t.Errorf("withheld (-want +got):\n%s%v", diff, got)
	}
	_, err := Parse("servers.json", []byte(`{"mcpServers": {"a": {"command": "x", "env": {"K": "command://"}}}}`))
	if err == nil || !strings.Contains(err.Error(), "servers.json:1:53: ") || !strings.Contains(err.Error(), "names no program") {
		t.Errorf("Parse = %v", err)
	}
}
