package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFileIsReplacedAsAWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	for _, write := range []func(string, []byte) error{Write, WriteSync} {
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("half"); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != "old" || err != nil {
			t.Errorf("before Commit: %q, %v", got, err)
		}
		f.Discard()
		if err := write(path, []byte("new")); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != "new" || err != nil {
			t.Errorf("after it was written: %q, %v", got, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

func TestFailureLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sub")
	if err := os.MkdirAll(filepath.Join(path, "not empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	if err := Write(filepath.Join(dir, "none", "x"), nil); err == nil {
		t.Error("a directory was created")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	f, err := Create(filepath.Join(dir, "y"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Discard()
	if _, err := os.Stat(filepath.Join(dir, "y")); err != nil {
		t.Errorf("Discard after Commit removed the file: %v", err)
	}
}
