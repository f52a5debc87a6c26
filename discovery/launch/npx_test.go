package launch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// npxFolder makes a folder of npx's cache with these files, which nobody has
// touched for an hour.
func npxFolder(t *testing.T, cache, hash string, files ...string) string {
	t.Helper()
	dir := filepath.Join(cache, "_npx", hash)
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"_npx":{"packages":["`+hash+`-server"]}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	age(t, dir, time.Hour)
	return dir
}

// age makes all that is in dir look as old as that.
func age(t *testing.T, dir string, d time.Duration) {
	t.Helper()
	old := time.Now().Add(-d)
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHalfInstalls(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "a [cache]")
	npxFolder(t, cache, "whole", "package.json", "node_modules/.package-lock.json", "node_modules/zod/index.js")
	npxFolder(t, cache, "none", "package.json")
	broken := npxFolder(t, cache, "broken", "package.json", "node_modules/zod/index.js", "node_modules/server/memory.jsonl")
	unnamed := npxFolder(t, cache, "unnamed", "node_modules/@a/b/index.js")
	writing := npxFolder(t, cache, "writing", "node_modules/@a/b/index.js")
	age(t, filepath.Join(writing, "node_modules", "@a", "b"), time.Second)
	locked, left := npxFolder(t, cache, "locked", "node_modules/a/b.js"), npxFolder(t, cache, "left", "node_modules/a/b.js")
	for dir, d := range map[string]time.Duration{locked: 0, left: 30 * time.Second} {
		if err := os.Mkdir(filepath.Join(dir, "concurrency.lock"), 0o700); err != nil {
			t.Fatal(err)
		}
		age(t, filepath.Join(dir, "concurrency.lock"), d)
	}
	want := []HalfInstall{{Dir: broken, Package: "broken-server"}, {Dir: left}, {Dir: locked, Installing: true}, {Dir: unnamed}, {Dir: writing, Installing: true}}
	if got := HalfInstalls(cache); !slices.Equal(got, want) {
		t.Errorf("HalfInstalls = %+v\nwant %+v", got, want)
	}
	aside, err := want[0].SetAside()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(aside, "server", "memory.jsonl")); err != nil {
		t.Errorf("what was in it is not kept: %v", err)
	}
	if _, err := want[1].SetAside(); err != nil {
		t.Fatal(err)
	}
	if got := HalfInstalls(cache); len(got) != 3 || slices.Contains(got, want[0]) {
		t.Errorf("afterwards: %+v", got)
	}
	if _, err := os.Stat(filepath.Join(left, "concurrency.lock")); err == nil {
		t.Error("the lock of a dead npx is left, for which the next one waits")
	}
}
