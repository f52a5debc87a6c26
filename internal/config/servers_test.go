package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Servers are added, enabled and disabled as by the commands, comments stay, and a
// refused change leaves the file unchanged.
func TestServerFile(t *testing.T) {
	const before = `{
  // mine
  "mcpServers": {
    "notes": {"command": "notes"}, // keep
    "old": {"command": "old", "enabled": false}
  }
}
`
	for _, tt := range []struct {
		name   string
		change func(f ServerFile) error
		want   string // in the file; after "!", in the error
	}{
		{"a command", func(f ServerFile) error {
			return f.Add("files", EntryOf(Server{Description: "Files", Command: "npx", Args: []string{"-y", "a b"}, Env: map[string]string{"Z": "1", "A": "${KEY}"}}))
		},
			`"files": {"description": "Files", "command": "npx", "args": ["-y", "a b"], "env": {"A": "${KEY}", "Z": "1"}}`},
		{"an address", func(f ServerFile) error {
			return f.Add("far", EntryOf(Server{URL: "https://example.com/mcp", Headers: map[string]string{"X-Key": "${KEY}"}, Disabled: true}))
		},
			`"far": {"url": "https://example.com/mcp", "headers": {"X-Key": "${KEY}"}, "disabled": true}`},
		{"a name that is taken", func(f ServerFile) error { return f.Add("notes", EntryOf(Server{Command: "x"})) }, `!server "notes" already exists`},
		{"a server that is disabled has its name too", func(f ServerFile) error { return f.Add("old", EntryOf(Server{Command: "x"})) }, `!server "old" already exists`},
		{"nothing to run", func(f ServerFile) error { return f.Add("empty", EntryOf(Server{})) }, `!(a program to start) or "url"`},
		{"both", func(f ServerFile) error {
			return f.Add("both", EntryOf(Server{Command: "x", URL: "https://example.com/"}))
		}, `!both`},
		{"no address", func(f ServerFile) error { return f.Add("far", EntryOf(Server{URL: "example"})) }, `!url`},
		{"no name", func(f ServerFile) error { return f.Add(" ", EntryOf(Server{Command: "x"})) }, `!name`},
		{"disabled", func(f ServerFile) error { return f.Enable("notes", false) }, `"notes": {"command": "notes", "disabled": true}, // keep`},
		{"enabled", func(f ServerFile) error { return f.Enable("old", true) }, `"old": {"command": "old"}`},
		{"as it is", func(f ServerFile) error { return f.Enable("old", false) }, `"old": {"command": "old", "enabled": false}`},
		{"a name that is near", func(f ServerFile) error { return f.Enable("note", false) }, `!did you mean "notes"?`},
		{"a server of a plugin", func(f ServerFile) error { return f.Enable("sales:crm", false) }, `!plugin`},
	} {
		path := filepath.Join(t.TempDir(), "servers.json")
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		err := tt.change(ServerFile(path))
		data, e := os.ReadFile(path)
		if e != nil {
			t.Fatal(e)
		}
		got := strings.Join(strings.Fields(string(data)), " ")
		got = strings.NewReplacer("{ ", "{", " }", "}", "[ ", "[", " ]", "]").Replace(got)
		want, refused := strings.CutPrefix(tt.want, "!")
		switch {
		case refused && (err == nil || !strings.Contains(err.Error(), want) || string(data) != before):
			t.Errorf("%s: %v, and the file has %s; want an error with %s", tt.name, err, data, want)
		case !refused && (err != nil || !strings.Contains(got, want) || !strings.Contains(got, "// mine")):
			t.Errorf("%s: %v, and the file has %s; want %s", tt.name, err, got, want)
		}
	}
}

// An invalid file is not changed, and its path is in no error.
func TestServerFileThatIsWrong(t *testing.T) {
	for _, before := range []string{"{", `{"mcpServers": {"notes": {"comand": "notes"}}}`, `{"mcpServers": []}`, "{}\n{}"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "servers.json")
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		f := ServerFile(path)
		for _, err := range []error{f.Add("files", EntryOf(Server{Command: "x"})), f.Enable("notes", false)} {
			data, e := os.ReadFile(path)
			if err == nil || strings.Contains(err.Error(), dir) || e != nil || string(data) != before {
				t.Errorf("%s: %v, %v, and the file has %s", before, err, e, data)
			}
		}
	}
}
