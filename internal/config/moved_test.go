package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A configuration that moves keeps its state. For one that may have moved, a note names
// the state that it does not get.
func TestOpenStateFindsWhatMoved(t *testing.T) {
	const text = `{"mcpServers": {"notes": {"command": "notes"}}}`
	for _, tt := range []struct {
		name  string
		move  func(t *testing.T, from, to string)
		busy  bool
		found bool
		note  string
	}{
		{"a file", func(t *testing.T, from, to string) { rename(t, from, to) }, false, true, "its record, pins and approvals now belong to"},
		{"a folder", func(t *testing.T, from, to string) { rename(t, filepath.Dir(from), filepath.Dir(to)) }, false, true, "its record, pins and approvals now belong to"},
		{"onto another disk", func(t *testing.T, from, to string) { write(t, to, text); remove(t, from) }, false, true, "its record, pins and approvals now belong to"},
		{"a copy", func(t *testing.T, _, to string) { write(t, to, text) }, false, false, ""},
		{"with a change", func(t *testing.T, from, to string) {
			remove(t, from)
			write(t, to, `{"mcpServers": {"notes": {"command": "other"}}}`)
		}, false, false, "starts without record"},
		{"another one", func(t *testing.T, from, to string) {
			remove(t, from)
			write(t, to, `{"mcpServers": {"files": {"command": "files"}}}`)
		}, false, false, ""},
		{"while a daemon uses it", func(t *testing.T, from, to string) { rename(t, from, to) }, true, false, "broker daemon stop"},
		{"to another name", func(t *testing.T, from, to string) { rename(t, from, to+".new") }, false, true, "its record, pins and approvals now belong to"},
		{"to another name in its folder", func(t *testing.T, from, _ string) { rename(t, from, from+".new") }, false, true, "its record, pins and approvals now belong to"},
		{"to another name, with a change", func(t *testing.T, from, _ string) {
			remove(t, from)
			write(t, from+".new", `{"mcpServers": {"notes": {"command": "other"}}}`)
		}, false, false, "starts without record"},
		{"to another name and folder, with a change", func(t *testing.T, from, to string) {
			remove(t, from)
			write(t, to+".new", `{"mcpServers": {"notes": {"command": "other"}}}`)
		}, false, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
			from, to := filepath.Join(home, "a", "servers.json"), filepath.Join(home, "b", "servers.json")
			write(t, from, text)
			before, note, err := OpenState("", from, nil)
			if err != nil || note != "" {
				t.Fatal(note, err)
			}
			write(t, filepath.Join(before, "audit.db"), "record")
			tt.move(t, from, to)
			for _, path := range []string{to + ".new", from + ".new"} {
				if _, err := os.Stat(path); err == nil {
					to = path
				}
			}
			after, note, err := OpenState("", to, func(dir string) bool { return tt.busy })
			record, _ := os.ReadFile(filepath.Join(after, "audit.db"))
			if err != nil || (string(record) == "record") != tt.found || !strings.Contains(note, tt.note) || (note == "") != (tt.note == "") {
				t.Errorf("%s has %q, %v; note %q, want %q", after, record, err, note, tt.note)
			}
			if tt.note != "" && !tt.found && !strings.Contains(note, before) {
				t.Errorf("note %q does not name %s", note, before)
			}
			if again, note, err := OpenState("", to, nil); again != after || note != "" || err != nil {
				t.Errorf("the second time: %s, %q, %v", again, note, err)
			}
		})
	}
}

// Marks of another user have no effect.
func TestOpenStateDoubtsMarks(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", home)
	for i, mark := range []string{"", "null", `{"config": 1}`, `{"config": "servers.json"}`, `{"config": "/nowhere/servers.json"}`, strings.Repeat(" ", maxMarkBytes+1), "\x00"} {
		write(t, filepath.Join(home, "broker", "servers-"+strings.Repeat("a", i), markName), mark)
	}
	path := filepath.Join(t.TempDir(), "servers.json")
	write(t, path, `{"mcpServers": {"notes": {"command": "notes"}}}`)
	if dir, note, err := OpenState("", path, nil); err != nil || note != "" || dir == "" {
		t.Errorf("%s, %q, %v", dir, note, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(to)), 0o755); err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(to) != "" {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
