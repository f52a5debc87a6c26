package postgrestest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The first server is made by initdb, later ones are copies of what that made.
func TestServersAreCopies(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	first, err := Start()
	first = Need(t, first, err)
	t.Cleanup(func() { _ = first.Stop() })
	template, err := first.template()
	if err == nil {
		err = os.WriteFile(filepath.Join(template, "marker"), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	second, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Stop() })
	if _, err := os.Stat(filepath.Join(second.data(), "marker")); err != nil {
		t.Errorf("the second server is not a copy: %v", err)
	}
	if _, err := second.Query("CREATE TABLE t AS SELECT 1"); err != nil {
		t.Error(err)
	}
	if _, err := first.Query("SELECT * FROM t"); err == nil {
		t.Error("the first server has a table of the second")
	}
	if err := second.Kill(); err != nil {
		t.Error(err)
	}
	if err := second.Run(); err != nil {
		t.Error(err)
	}
	if n, err := second.Query("SELECT count(*) FROM t"); err != nil || n != "1" {
		t.Errorf("after a crash there are %s rows, %v", n, err)
	}
}

// A directory that cannot be copied is replaced by one of initdb.
func TestDamagedCopyIsNotUsed(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	bin, err := programs()
	if err != nil {
		Need(t, nil, err)
	}
	template, err := (&Server{bin: bin}).template()
	if err == nil {
		err = errors.Join(os.MkdirAll(template, 0o700), os.Symlink("gone", filepath.Join(template, "base")))
	}
	if err != nil {
		t.Fatal(err)
	}
	again, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Stop(); err != nil {
		t.Error(err)
	}
}

// A server that cannot start says why, at once.
func TestServerThatDoesNotStart(t *testing.T) {
	s, err := Start()
	s = Need(t, s, err)
	t.Cleanup(func() { _ = s.Stop() })
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	s.args = []string{"-c", "max_connections=none"}
	if err := s.Run(); err == nil || !strings.Contains(err.Error(), `invalid value for parameter "max_connections"`) {
		t.Errorf("Run() = %v", err)
	}
}
