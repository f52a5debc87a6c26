package index

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// TestMain lets the test binary be another broker that uses the same directory.
func TestMain(m *testing.M) {
	if dir := os.Getenv("INDEX_TEST_DIR"); dir != "" {
		if err := anotherProcess(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func anotherProcess(dir string) error {
	var log bytes.Buffer
	x := New(&Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, n := range []int{len(issues), 1200} {
		if os.Getenv("INDEX_TEST_BUILD") == "" && n > len(issues) {
			break
		}
		if err := errors.Join(x.Sync(many(n), nil), x.settle()); err != nil {
			return err
		}
	}
	h, err := x.Search(context.Background(), Query{Text: "list issues"})
	if err == nil && (len(h.Hits) == 0 || h.Hits[0].ID != "git_hub__listIssues") {
		err = fmt.Errorf("found %+v", h)
	}
	if log.Len() > 0 {
		err = errors.Join(err, errors.New(log.String()))
	}
	return errors.Join(err, x.Close())
}

// many is a catalogue with n tools beside those of the other tests.
func many(n int) *discovery.Catalog {
	list := issues
	for i := range n - len(issues) {
		list = append(list[:len(list):len(list)], discovery.ListedTool{Name: fmt.Sprintf("thing_%d", i), Description: fmt.Sprintf("Do the thing of number %d, and much else%d.", i, i)})
	}
	return catalog(list...)
}

// stored returns an index of the catalogue that is in dir if it can be, and what it
// logs.
func stored(t *testing.T, dir string, c *discovery.Catalog) (*Index, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	x := openIndex(t, &Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))}, c)
	if !onDisk(x) {
		if err := x.settle(); err != nil {
			t.Fatal(err)
		}
	}
	return x, &log
}

func onDisk(x *Index) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.current.onDisk()
}

// finished returns the directories of finished indexes in dir, and the rest.
func finished(t *testing.T, dir string) (list, other []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); strings.HasPrefix(e.Name(), buildPrefix) {
			other = append(other, path)
		} else {
			list = append(list, path)
		}
	}
	return list, other
}

// mustFind checks that x answers as an index in memory does.
func mustFind(t *testing.T, x *Index) {
	t.Helper()
	for _, q := range []string{"list issues", "isues", "HTTPStatus", "files.read_file", "what a directory holds"} {
		want, err := newIndex(t, catalog(issues...)).Search(t.Context(), Query{Text: q})
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Search(t.Context(), Query{Text: q})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Search(%q) (-in memory +from the directory):\n%s", q, diff)
		}
	}
}

func TestTheNextStartOpensWhatWasBuilt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	x, _ := stored(t, dir, catalog(issues...))
	mustFind(t, x)
	list, other := finished(t, dir)
	if len(list) != 1 || len(other) != 0 {
		t.Fatalf("%v and %v were left, want one directory", list, other)
	}
	before := fileTimes(t, list[0])
	y, log := stored(t, dir, catalog(issues...))
	mustFind(t, y)
	if diff := cmp.Diff(before, fileTimes(t, list[0])); diff != "" || log.Len() > 0 {
		t.Errorf("the second start changed files (-before +now):\n%s%s", diff, log)
	}
	syncWith(t, y, catalog(issues[:1]...)) // much else has its own
	if list, _ = finished(t, dir); len(list) != 1 {
		t.Errorf("a small change made a directory at once: %v", list)
	}
}

// The first search waits for no file, and a process that ends at once keeps its index.
func TestProcessesThatEndSoonKeepTheirIndex(t *testing.T) {
	entry := Entry{ID: "triage", Kind: "skill", Name: "triage", Description: "Sort what comes in by urgency."}
	for name, c := range map[string]struct {
		tools   *discovery.Catalog
		entries []Entry
		query   string
	}{
		"tools":   {catalog(issues...), nil, "list issues"},
		"entries": {discovery.NewCatalog(nil), []Entry{entry}, "urgency"},
		"both":    {catalog(issues...), []Entry{entry}, "triage"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "index")
			for range 2 {
				x := New(&Options{Dir: dir})
				syncWith(t, x, c.tools, c.entries...)
				if onDisk(x) {
					t.Error("files were written before the first search")
				}
				if len(ids(t, x, Query{Text: c.query})) == 0 {
					t.Errorf("nothing found for %q", c.query)
				}
				if err := x.Close(); err != nil {
					t.Fatal(err)
				}
				list, other := finished(t, dir)
				if len(list) != 1 || len(other) != 0 {
					t.Fatalf("%v and %v were left, want one directory", list, other)
				}
				x = New(&Options{Dir: dir})
				syncWith(t, x, c.tools, c.entries...)
				if !onDisk(x) || len(ids(t, x, Query{Text: c.query})) == 0 {
					t.Errorf("the next start does not search the directory for %q", c.query)
				}
				if err := x.Close(); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(list[0], segmentName), nil, 0o600); err != nil { // and again with a damaged one
					t.Fatal(err)
				}
			}
		})
	}
}

func fileTimes(t *testing.T, dir string) map[string]time.Time {
	times := map[string]time.Time{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == manifestName {
			return err
		}
		info, err := d.Info()
		times[path] = info.ModTime()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return times
}

// A directory that is damaged in any way is found out, removed and built again.
func TestDamagedDirectoriesAreBuiltAgain(t *testing.T) {
	dir := t.TempDir()
	x, _ := stored(t, dir, catalog(issues...))
	mustFind(t, x)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	list, _ := finished(t, dir)
	var files []string
	for path := range fileTimes(t, list[0]) {
		files = append(files, path)
	}
	files = append(files, filepath.Join(list[0], manifestName))
	truncate := func(b []byte) []byte { return b[:len(b)/2] }
	flip := func(b []byte) []byte { b[len(b)/3] ^= 0x40; return b }
	for _, path := range files {
		for name, damage := range map[string]func([]byte) []byte{"truncated": truncate, "flipped": flip, "emptied": func([]byte) []byte { return nil }, "removed": nil} {
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if damage == nil {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, damage(bytes.Clone(good)), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			x, log := stored(t, dir, catalog(issues...))
			mustFind(t, x)
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			if log.Len() == 0 {
				t.Errorf("%s %s: nothing was reported", filepath.Base(path), name)
			}
			if err := verify(list[0]); err != nil {
				t.Errorf("%s %s: not built again: %v", filepath.Base(path), name, err)
			}
		}
	}
}

// What passes the manifest and is not an index all the same must not end the
// process either.
func TestWhatBleveCannotReadIsBuiltAgain(t *testing.T) {
	dir := t.TempDir()
	x, _ := stored(t, dir, catalog(issues...))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	list, _ := finished(t, dir)
	for path := range fileTimes(t, list[0]) {
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(good); at += 1 + len(good)/9 {
			bad := append(bytes.Clone(good[:at]), bytes.Repeat([]byte{0xff}, min(16, len(good)-at))...)
			if err := os.WriteFile(path, append(bad, good[len(bad):]...), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := writeManifest(list[0]); err != nil {
				t.Fatal(err)
			}
			x, _ := stored(t, dir, catalog(issues...))
			if h, err := x.Search(t.Context(), Query{Text: "list issues"}); err != nil {
				t.Errorf("%s damaged at %d: %+v, %v", filepath.Base(path), at, h, err)
			}
			if err := x.Close(); err != nil {
				t.Logf("%s damaged at %d: %v", filepath.Base(path), at, err)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, good, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// An index goes on when its files are cut short or removed while it is open.
func TestFilesMayGoWhileTheyAreOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not let open files be removed")
	}
	for name, spoil := range map[string]func(path string) error{
		"truncated": func(path string) error { return os.Truncate(path, 0) },
		"removed":   os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x, _ := stored(t, dir, catalog(issues...))
			list, _ := finished(t, dir)
			for path := range fileTimes(t, list[0]) {
				if err := spoil(path); err != nil {
					t.Fatal(err)
				}
			}
			mustFind(t, x)
			y, _ := stored(t, dir, catalog(issues...))
			mustFind(t, y)
		})
	}
}

func TestWithoutAPlaceToWrite(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		x, log := stored(t, filepath.Join(file, "index"), catalog(issues...))
		mustFind(t, x)
		if !strings.Contains(log.String(), "in memory") {
			t.Errorf("log is %q", log)
		}
		return
	}
	dir := t.TempDir()
	stored(t, dir, catalog(issues...))
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	x, log := stored(t, dir, catalog(issues...)) // what is there can be read
	mustFind(t, x)
	if log.Len() > 0 {
		t.Errorf("log is %q", log)
	}
	y, log := stored(t, dir, many(50)) // what is not cannot be written
	if y.Count() != 52 || !strings.Contains(log.String(), "in memory") {
		t.Errorf("%d things, log %q", y.Count(), log)
	}
}

func TestProcessesShareADirectory(t *testing.T) {
	dir := t.TempDir()
	x, _ := stored(t, dir, many(100)) // is open all the time
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "INDEX_TEST_DIR="+dir, "INDEX_TEST_BUILD=1")
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("another process: %v\n%s", err, out)
			}
		})
	}
	for range 20 {
		wg.Go(func() {
			y, log := New(&Options{Dir: dir}), &bytes.Buffer{}
			if err := errors.Join(y.Sync(many(200), nil), y.settle(), y.Close()); err != nil || log.Len() > 0 {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, other := finished(t, dir); len(list) != 4 || len(other) > 0 {
		t.Errorf("%d indexes and %v were left, want 4 and nothing", len(list), other)
	}
	if x.Count() != 102 {
		t.Errorf("%d things", x.Count())
	}
}

// A process that is killed while it builds leaves nothing that is opened, and
// nothing that stays.
func TestKilledInTheMiddleOfABuild(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "INDEX_TEST_DIR="+dir, "INDEX_TEST_BUILD=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "it builds, or was faster", func() bool {
		complete, building := finished(t, dir)
		return len(complete)+len(building) > 0
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	_, left := finished(t, dir)
	if len(left) == 0 { // as if it had been killed
		left = []string{filepath.Join(dir, buildPrefix+"1")}
		if err := os.MkdirAll(filepath.Join(left[0], "index", "store"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	x, log := stored(t, dir, catalog(issues...))
	mustFind(t, x)
	if log.Len() > 0 {
		t.Errorf("log is %q", log)
	}
	old := time.Now().Add(-2 * unusedBuild)
	if err := os.Chtimes(left[0], old, old); err != nil {
		t.Fatal(err)
	}
	stored(t, dir, many(60))
	if _, other := finished(t, dir); len(other) > 0 {
		t.Errorf("%v is left of a build that ended long ago", other)
	}
}

func TestUnusedIndexesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	age := func(path string, by time.Duration) {
		t.Helper()
		then := time.Now().Add(-by)
		if err := os.Chtimes(filepath.Join(path, manifestName), then, then); err != nil {
			t.Fatal(err)
		}
	}
	for i := range most + 2 {
		stored(t, dir, many(10+i))
	}
	list, _ := finished(t, dir)
	for _, path := range list {
		age(path, time.Hour)
	}
	age(list[0], 2*unusedMost)
	age(list[1], 2*unused)
	foreign := filepath.Join(dir, "notes")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	stored(t, dir, many(7))
	left, _ := finished(t, dir)
	for _, path := range list[:2] {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is there still", path)
		}
	}
	if len(left) != most+2 {
		t.Errorf("%d are left, want those that were used lately, the new one and the foreign one: %v", len(left), left)
	}
}

// What has changed is built in without anybody asking, and kept.
func TestChangesAreBuiltInInTheBackground(t *testing.T) {
	dir := t.TempDir()
	x := New(&Options{Dir: dir})
	t.Cleanup(func() { _ = x.Close() })
	x.quiet = time.Millisecond
	syncWith(t, x, many(30))
	eventually.True(t, "the first index is in the directory", func() bool { return onDisk(x) })
	syncWith(t, x, many(33))
	eventually.True(t, "the changes are in one new index", func() bool {
		x.mu.RLock()
		parts, file := len(x.current.parts), x.current.onDisk()
		x.mu.RUnlock()
		list, _ := finished(t, dir)
		return parts == 1 && file && len(list) == 2
	})
	if got := ids(t, x, Query{Text: "thing_29"}); x.Count() != 35 || len(got) == 0 || got[0] != "git_hub__thing_29" {
		t.Errorf("%d things, found %v", x.Count(), got)
	}
}

// An index that an older program has kept must not be taken for one of this.
func TestFormatFollowsTheDocuments(t *testing.T) {
	list, err := records(loadTools(t, filepath.Join("testdata", "tools.jsonl")), []Entry{{ID: "a", Kind: "skill", Title: "HTTPStatus of 火车票", Text: func() string { return "A body." }}})
	if err != nil {
		t.Fatal(err)
	}
	h, r := sha256.New(), newReader()
	for _, rec := range list {
		d := r.read(rec)
		for _, f := range r.fields(&d) {
			for _, word := range slices.Sorted(maps.Keys(f.freqs)) {
				fmt.Fprintln(h, f.name, word, f.freqs[word].Frequency())
			}
		}
	}
	if got, want := fmt.Sprintf("%d %x", format, h.Sum(nil)[:8]), "4 374e3ccf974364c8"; got != want {
		t.Errorf("documents are %s, not %s: add 1 to format if that is not done yet, and write the new sum here", got, want)
	}
}
