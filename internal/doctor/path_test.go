package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestPathNote(t *testing.T) {
	at := func(path string) func(string) (string, error) {
		return func(string) (string, error) { return path, nil }
	}
	missing := func(string) (string, error) { return "", errors.New("not found") }
	for _, c := range []struct {
		name, command, goos string
		look                func(string) (string, error)
		want                string
	}{
		{"nvm", "npx", "linux", at("/home/me/.nvm/versions/node/v22/bin/npx"), `make its command "/home/me/.nvm/versions/node/v22/bin/npx"`},
		{"homebrew", "npx", "darwin", at("/opt/homebrew/bin/npx"), "/opt/homebrew/bin/npx"},
		{"standard place", "npx", "linux", at("/usr/bin/npx"), ""},
		{"a place that only Linux has", "npx", "darwin", at("/usr/local/bin/npx"), "/usr/local/bin/npx"},
		{"full path", "/opt/x/server", "linux", at("/opt/x/server"), ""},
		{"not found at all", "npx", "linux", missing, ""},
		{"windows", "npx", "windows", at(`C:\x\npx`), ""},
		{"no command", "", "linux", missing, ""},
	} {
		got := pathNote(c.command, c.goos, c.look)
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", c.name, got, c.want)
		}
	}
}

// The shell's start-up files add a directory to PATH, and chatter.
func TestShellHint(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no login shells on Windows")
	}
	dir := t.TempDir()
	tool := filepath.Join(dir, "only-in-shell")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	shell := filepath.Join(dir, "shell")
	script := "#!/bin/sh\necho welcome\nPATH=" + dir + ":$PATH\nshift\neval \"$1\"\n"
	if err := os.WriteFile(shell, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHELL", shell)
	if got := shellHint(t.Context(), "only-in-shell"); !strings.Contains(got, tool) {
		t.Errorf("hint %q, want %s in it", got, tool)
	}
	for _, c := range []string{"not-anywhere", "sh", "/abs/path", "a;b", ""} {
		if got := shellHint(t.Context(), c); got != "" {
			t.Errorf("hint for %q: %q, want none", c, got)
		}
	}
}
