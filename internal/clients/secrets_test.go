package clients

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Secrets of env and headers move into the keyring before anything is written.
func TestSecretsMoveIntoTheKeyring(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mcp.json")
	const text = `{"mcpServers": {
		"gh": {"url": "https://gh/mcp", "headers": {"Authorization": "Bearer swordfish-1", "X-Team": "core"}},
		"fs": {"command": "fs", "env": {"API_TOKEN": "swordfish-2", "MODE": "fast", "OTHER_TOKEN": "${T}", "OP_TOKEN": "op://v/i/f"}}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Request{Client: Lookup("cursor"), Env: Env{Home: dir, Dir: dir}, Project: true, Journal: filepath.Join(dir, "installs.json"), Name: "broker",
		Launch: Launch{Command: "/bin/broker", Args: []string{"serve"}}, Move: true, Config: filepath.Join(dir, "servers.json"), Options: &Options{Keyring: true}}
	path, err := r.target()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, path); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("locked")
	r.Store = func(string, string) error { return refused }
	if _, err := Install(r); !errors.Is(err, refused) {
		t.Fatalf("Install = %v, want %v", err, refused)
	}
	if _, err := os.Stat(r.Config); err == nil {
		t.Error("servers.json was written without its secrets")
	}
	got := make(map[string]string)
	r.Store = func(name, value string) error { got[name] = value; return nil }
	res, err := Install(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"gh/Authorization": "swordfish-1", "fs/API_TOKEN": "swordfish-2"}, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	data, err := os.ReadFile(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"Bearer ${keyring:gh/Authorization}"`, `"${keyring:fs/API_TOKEN}"`, `"op://v/i/f"`, `"core"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("servers.json lacks %s:\n%s", want, data)
		}
	}
	if strings.Contains(string(data), "swordfish") {
		t.Errorf("a secret is left:\n%s", data)
	}
	for _, o := range res.Moved {
		if o.Secret || len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "into the keyring") {
			t.Errorf("outcome %+v", o)
		}
	}
}
