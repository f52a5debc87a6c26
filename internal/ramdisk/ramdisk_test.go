package ramdisk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "print" {
		fmt.Print(os.TempDir())
		return
	}
	Main(m)
}

// What a process that was killed has left is removed, and nothing of processes that run.
func TestDirectoriesOfTheDeadAreRemoved(t *testing.T) {
	dead := exec.Command(os.Args[0], "print")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	left := filepath.Join(parent, fmt.Sprintf("%s%d-x", prefix, dead.Process.Pid))
	others := []string{filepath.Join(parent, fmt.Sprintf("%s%d-x", prefix, os.Getppid())), filepath.Join(parent, prefix+"none-x"), filepath.Join(parent, "1-x")}
	for _, dir := range append(others, left) {
		if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	removeLeft(parent)
	if _, err := os.Stat(left); dir() != "" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", left, err)
	}
	for _, other := range others {
		if _, err := os.Stat(other); err != nil {
			t.Error(err)
		}
	}
}

// Temporary files of tests, and of what they start, are in the directory.
func TestTemporaryFilesAreInTheDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("another variable says there where temporary files are")
	}
	if os.Getenv("GOTMPDIR") != "" {
		t.Skip("GOTMPDIR says where tests have their files")
	}
	out, err := exec.Command(os.Args[0], "print").Output()
	if err != nil || string(out) != os.Getenv("TMPDIR") || !strings.HasPrefix(t.TempDir(), os.Getenv("TMPDIR")) || !strings.Contains(string(out), prefix) {
		t.Errorf("files are in %q and %q, %v", out, t.TempDir(), err)
	}
}

// Whoever says where temporary files go is obeyed.
func TestTMPDIRIsObeyed(t *testing.T) {
	at := t.TempDir()
	t.Setenv("TMPDIR", at)
	dir, err := MkdirTemp()
	if err != nil || filepath.Dir(dir) != at {
		t.Errorf("%q, %v", dir, err)
	}
}
