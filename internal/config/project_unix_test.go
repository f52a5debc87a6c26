//go:build unix

package config_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A pipe in an archive keeps nobody waiting who opens the project.
func TestProjectThatIncludesAPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".broker.json")
	write(t, path, `{"include": ["pipe.json"]}`)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.json"), 0o600); err != nil {
		t.Skip(err)
	}
	notes := make(chan string)
	go func() {
		p, err := config.LoadProject(path)
		if err != nil {
			notes <- err.Error()
			return
		}
		notes <- strings.Join(p.Notes, "; ")
	}()
	select {
	case got := <-notes:
		if !strings.Contains(got, "pipe.json") || !strings.Contains(got, "is not a file") {
			t.Errorf("notes: %s", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for who writes to the pipe")
	}
}
