package config

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const commented = `{
  // my servers
  "mcpServers": {
    "fs": {"command": "npx", "args": ["-y", "fs"]}, // files
    "gh": {
      "url": "https://gh.example.com/mcp", // remote
      "disabled": true,
    },
  },
}
`

func TestEditsKeepComments(t *testing.T) {
	tests := []struct {
		name string
		edit func([]byte) ([]byte, error)
		want func(string) string
	}{
		{"enable", func(d []byte) ([]byte, error) { return SetDisabled(d, "gh", false) },
			func(s string) string { return strings.Replace(s, "      \"disabled\": true,\n", "", 1) }},
		{"disable", func(d []byte) ([]byte, error) { return SetDisabled(d, "fs", true) },
			func(s string) string { return strings.Replace(s, `"fs"]}`, `"fs"], "disabled": true}`, 1) }},
		{"disable again", func(d []byte) ([]byte, error) { return SetDisabled(d, "gh", true) }, func(s string) string { return s }},
		{"remove", func(d []byte) ([]byte, error) { return RemoveServer(d, "fs") },
			func(s string) string {
				return strings.Replace(s, "    \"fs\": {\"command\": \"npx\", \"args\": [\"-y\", \"fs\"]}, // files\n", "", 1)
			}},
		{"add", func(d []byte) ([]byte, error) { return AddServer(d, "x", Object{{"command", "x"}}) },
			func(s string) string {
				return strings.Replace(s, "    },\n  },\n", "    },\n    \"x\": {\n      \"command\": \"x\"\n    },\n  },\n", 1)
			}},
		{"allow, twice", func(d []byte) ([]byte, error) {
			d, err := AllowTools(d, []string{"a__b"})
			if err != nil {
				return nil, err
			}
			return AllowTools(d, []string{"a__c", "x.d"})
		}, func(s string) string {
			return strings.TrimSuffix(s, "}\n") + `  "broker": {
    "policy": {
      "rules": [{"effect": "allow", "tools": ["a__b"]}, {"effect": "allow", "tools": ["a__c","x.d"]}]
    }
  },
}
`
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.edit([]byte(commented))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want(commented), string(got)); diff != "" {
				t.Errorf("mismatch (-want +got):\n%s", diff)
			}
			if _, err := Parse("servers.json", got); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSetDisabledKnowsEnabled(t *testing.T) {
	for _, in := range []string{`{"enabled": true, "command": "x"}`, `{"command": "x", "enabled": false}`, `{"command": "x", "Disabled": true}`, `{"command": "x"}`,
		`{"command": "x", "enabled": true, "disabled": false}`} {
		for _, off := range []bool{true, false} {
			got, err := SetDisabled([]byte(`{"servers": {"a": `+in+`}}`), "a", off)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := Parse("servers.json", got)
			if err != nil || cfg.Servers[0].Disabled != off {
				t.Errorf("SetDisabled(%s, %t) = %s, %v", in, off, got, err)
			}
		}
	}
	if _, err := SetDisabled([]byte(commented), "nobody", true); err == nil {
		t.Error("a server that is not there was switched off")
	}
}

func TestEditWritesOnlyWhatLoads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "servers.json")
	add := func(name string, entry Object) error {
		return Edit(path, func(d []byte) ([]byte, error) { return AddServer(d, name, entry) })
	}
	if err := add("a", Object{{"command", "x"}}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("a new file has mode %v, %v", info.Mode(), err)
	}
	if _, ok := errors.AsType[*Report](add("b", Object{{"comand", "x"}})); !ok {
		t.Error("a server without a command was written")
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the refused edit changed the file: %q, %v", after, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("files left over: %v, %v", left, err)
	}
}

func TestReplaceKeepsModeAndLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes are another matter on Windows")
	}
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	if err := errors.Join(os.WriteFile(real, []byte("old"), 0o640), os.Chmod(real, 0o640), os.Symlink("real.json", link)); err != nil {
		t.Fatal(err)
	}
	if err := Replace(link, []byte("other"), []byte("new")); err == nil || !strings.Contains(err.Error(), "try again") {
		t.Errorf("Replace of a file that has changed: %v", err)
	}
	if err := Replace(link, nil, []byte("new")); err == nil {
		t.Error("Replace took a file for a new one that is there")
	}
	if err := Replace(link, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(real)
	data, _ := os.ReadFile(real)
	if err != nil || string(data) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("the file has %q, %v, %v", data, info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
}

func TestTarget(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Chdir(t.TempDir())
	own := filepath.Join(home, "broker", "servers.json")
	check := func(flag, want string, exists bool) {
		t.Helper()
		if path, ok, err := Target(flag); path != want || ok != exists || err != nil {
			t.Errorf("Target(%q) = %q, %t, %v, want %q, %t", flag, path, ok, err, want, exists)
		}
	}
	check("", own, false)
	check("x.json", "x.json", false)
	if err := Edit("servers.json", func(d []byte) ([]byte, error) { return d, nil }); err != nil {
		t.Fatal(err)
	}
	check("", "servers.json", true)
	check("servers.json", "servers.json", true)
}

func TestSetArg(t *testing.T) {
	for _, c := range []struct {
		data, want string
		arg        int
	}{
		{`{"mcpServers": {"s": {"command": "npx", "args": ["-y", /* the server */ "a", "b"]}}} // end`,
			`{"mcpServers": {"s": {"command": "npx", "args": ["-y", /* the server */ "a@1.2.3", "b"]}}} // end`, 1},
		{"\ufeff{\"servers\": {\"s\": {\"command\": \"npx\", \"args\": \"a\"}}}", "\ufeff{\"servers\": {\"s\": {\"command\": \"npx\", \"args\": \"a@1.2.3\"}}}", 0},
		{`{"mcpServers": {"s": {"command": "npx", "args": ["a"]}}}`, "", 1},
		{`{"mcpServers": {"s": {"command": "npx"}}}`, "", 0},
		{`{"mcpServers": {}}`, "", 0},
	} {
		got, err := SetArg([]byte(c.data), "s", c.arg, "a@1.2.3")
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("SetArg(%s) = %s, %v, want %s", c.data, got, err, c.want)
		}
	}
}
