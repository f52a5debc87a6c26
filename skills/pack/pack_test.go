package pack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/internal/skillcases"
	"github.com/mcpbroker/mcpbroker/skills/pack"
)

const text = "---\nname: my-skill\ndescription: Formats reports.\n---\n\n# Steps\n"

// tree lists everything below a folder.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if rel, e := filepath.Rel(dir, path); e == nil && rel != "." {
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func wantCode(t *testing.T, what string, err error, want ...string) {
	t.Helper()
	if e, ok := errors.AsType[*pack.Error](err); !ok || !slices.Contains(want, e.Code) {
		t.Errorf("%s: %v, want code %v", what, err, want)
	}
}

func TestArchiveCases(t *testing.T) {
	type input struct {
		File         string
		Base64       []byte
		Preinstalled []string
	}
	type want struct {
		OK    bool
		Name  string
		Files []string
		Codes []string
	}
	skillcases.Run(t, "archive", func(t *testing.T, dir string, in input, want want) {
		dest := filepath.Join(dir, "skills", "custom")
		for _, name := range in.Preinstalled {
			skillcases.Write(t, dest, []skillcases.Entry{{Path: name + "/SKILL.md", Text: "old"}})
		}
		file := filepath.Join(dir, in.File)
		if err := os.WriteFile(file, in.Base64, 0o600); err != nil {
			t.Fatal(err)
		}
		before := tree(t, dir)
		got, err := pack.Install(dest, file, pack.Options{})
		if !want.OK {
			wantCode(t, in.File, err, want.Codes...)
			after := slices.DeleteFunc(tree(t, dir), func(s string) bool { return s == "skills" || s == "skills/custom" })
			before = slices.DeleteFunc(before, func(s string) bool { return s == "skills" || s == "skills/custom" })
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("something was left (-before +after):\n%s", diff)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&pack.Installed{Name: want.Name, Path: filepath.Join(dest, want.Name), Files: want.Files, Diagnostics: got.Diagnostics}, got); diff != "" {
			t.Errorf("installed (-want +got):\n%s", diff)
		}
		for _, f := range want.Files {
			if _, err := os.Stat(filepath.Join(dest, want.Name, filepath.FromSlash(f))); err != nil {
				t.Error(err)
			}
		}
		if entries, err := os.ReadDir(dest); err != nil || len(entries) != 1 {
			t.Errorf("%v in %s, %v", entries, dest, err)
		}
	})
}

// A file is one entry of an archive that a test makes.
type file struct {
	name, text string
	mode       fs.FileMode
}

func zipOf(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		h.SetMode(f.mode | 0o644)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(w, f.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for _, h := range headers {
		body := h.Linkname
		if h.Typeflag == tar.TypeReg {
			h.Linkname = ""
			h.Size = int64(len(body))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, body); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// install installs an archive of a name into a new folder.
func install(t testing.TB, name string, data []byte) (*pack.Installed, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := pack.Install(filepath.Join(dir, "dest"), filepath.Join(dir, name), pack.Options{})
	if err != nil {
		if left := tree(t, filepath.Join(dir, "dest")); len(left) > 0 {
			t.Errorf("%s: %v was left", name, left)
		}
	}
	return got, err
}

func TestHostileArchives(t *testing.T) {
	md := file{"SKILL.md", text, 0}
	long := strings.Repeat("d/", 40)
	for _, c := range []struct {
		what string
		code string
		data []byte
	}{
		{"case", "archive_duplicate_entry", zipOf(t, md, file{"A/x", "", 0}, file{"a/X", "", 0})},
		{"unicode forms", "archive_duplicate_entry", zipOf(t, md, file{"\u00e9", "", 0}, file{"e\u0301", "", 0})},
		{"file and folder", "archive_duplicate_entry", zipOf(t, md, file{"a", "", 0}, file{"a/b", "", 0})},
		{"folder and file", "archive_duplicate_entry", zipOf(t, md, file{"a/b", "", 0}, file{"a", "", 0})},
		{"backslash", "archive_path_escape", zipOf(t, md, file{`..\evil`, "", 0})},
		{"drive", "archive_path_escape", zipOf(t, md, file{"C:/evil", "", 0})},
		{"dots inside", "archive_path_escape", zipOf(t, md, file{"a/../b", "", 0})},
		{"empty segment", "archive_bad_entry", zipOf(t, md, file{"a//b", "", 0})},
		{"deep", "archive_bad_entry", zipOf(t, md, file{long + "x", "", 0})},
		{"long name", "archive_bad_entry", zipOf(t, md, file{strings.Repeat("n", 300), "", 0})},
		{"device", "archive_bad_entry", zipOf(t, md, file{"dev", "", fs.ModeDevice})},
		{"link below the wrapper", "archive_symlink", zipOf(t, file{"w/SKILL.md", text, 0}, file{"w/l", "SKILL.md", fs.ModeSymlink})},
		{"beside the wrapper", "archive_bad_entry", zipOf(t, file{"w/SKILL.md", text, 0}, file{"README.md", "", 0})},
		{"two skills", "archive_multiple_skills", zipOf(t, file{"a/SKILL.md", text, 0}, file{"b/SKILL.md", text, 0})},
		{"SKILL.md is a folder", "archive_no_skill_md", zipOf(t, file{"SKILL.md/", "", fs.ModeDir})},
		{"nothing", "archive_no_skill_md", zipOf(t)},
		{"truncated", "archive_bad_format", zipOf(t, md)[:60]},
		{"many folders", "archive_too_many_files", zipOf(t, slices.Collect(func(yield func(file) bool) {
			for i := range 5000 {
				if !yield(file{fmt.Sprintf("d%d/", i), "", fs.ModeDir}) {
					return
				}
			}
		})...)},
	} {
		_, err := install(t, "x.zip", c.data)
		wantCode(t, c.what, err, c.code)
	}
	damaged := bytes.Clone(zipOf(t, file{"SKILL.md", strings.Repeat(text, 100), 0}))
	for i := 40; i < 60; i++ {
		damaged[i] ^= 0xff
	}
	_, err := install(t, "x.skill", damaged)
	wantCode(t, "damaged", err, "archive_bad_format")
	for what, h := range map[string]*tar.Header{
		"archive_symlink":       {Name: "l", Typeflag: tar.TypeLink, Linkname: "SKILL.md"},
		"archive_bad_entry":     {Name: "d", Typeflag: tar.TypeChar},
		"archive_path_escape":   {Name: "/abs", Typeflag: tar.TypeReg},
		"archive_bad_extension": {Name: "x", Typeflag: tar.TypeReg},
	} {
		name := "x.tgz"
		if what == "archive_bad_extension" {
			name = "x.tar"
		}
		_, err := install(t, name, tarOf(t, &tar.Header{Name: "SKILL.md", Typeflag: tar.TypeReg, Linkname: text}, h))
		wantCode(t, what, err, what)
	}
	_, err = install(t, "x.tar.gz", []byte("no gzip"))
	wantCode(t, "no gzip", err, "archive_bad_format")
}

// Whatever an archive claims, unpacking it stays small.
func TestBombsStaySmall(t *testing.T) {
	zeros := strings.Repeat("\x00", 20<<20)
	var directory bytes.Buffer
	for range 300_000 { // more entries than a count of 16 bits can tell
		directory.WriteString("PK\x01\x02" + strings.Repeat("\x00", 42))
	}
	for what, c := range map[string]struct {
		name, code string
		data       []byte
	}{
		"zip":           {"x.zip", "archive_too_large", zipOf(t, file{"SKILL.md", text, 0}, file{"z", zeros, 0})},
		"tar":           {"x.tar.gz", "archive_too_large", tarOf(t, &tar.Header{Name: "z", Typeflag: tar.TypeReg, Linkname: zeros})},
		"big archive":   {"x.zip", "archive_too_large", []byte(zeros)},
		"big directory": {"x.zip", "archive_too_many_files", append(directory.Bytes(), zipOf(t, file{"SKILL.md", text, 0})...)},
		"tar of names":  {"x.tgz", "archive_too_many_files", tarOf(t, names(700)...)},
	} {
		t.Run(what, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err := install(t, c.name, c.data)
			runtime.ReadMemStats(&after)
			wantCode(t, what, err, c.code)
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%d MiB were allocated", used>>20)
			}
		})
	}
}

func names(n int) []*tar.Header {
	var list []*tar.Header
	for i := range n {
		list = append(list, &tar.Header{Name: fmt.Sprint(i), Typeflag: tar.TypeReg})
	}
	return list
}

func TestASourceBelowAFileIsNotThere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := pack.Install(t.TempDir(), filepath.Join(file, "x.zip"), pack.Options{})
	wantCode(t, "below a file", err, "not_found")
}

// git in an installed folder must not run what the archive says.
func TestRepositoriesInArchivesAreLeftOut(t *testing.T) {
	files := []file{{"SKILL.md", text, 0}, {".git/config", "[core]\n\tfsmonitor = ./run\n", 0}, {"sub/.GIT/config", "x", 0}, {".gitignore", "x", 0}}
	dir := t.TempDir()
	tarred := []*tar.Header{}
	for _, f := range files {
		tarred = append(tarred, &tar.Header{Name: f.name, Typeflag: tar.TypeReg, Linkname: f.text})
	}
	for name, data := range map[string][]byte{"x.zip": zipOf(t, files...), "x.tar.gz": tarOf(t, tarred...)} {
		source := filepath.Join(dir, name)
		if err := os.WriteFile(source, data, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := pack.Install(filepath.Join(dir, "dest"), source, pack.Options{Force: true})
		if err != nil || !slices.Equal(got.Files, []string{".gitignore", "SKILL.md"}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestForceReplacesAsAWhole(t *testing.T) {
	dir := t.TempDir()
	dest, source := filepath.Join(dir, "dest"), filepath.Join(dir, "my-skill")
	skillcases.Write(t, source, []skillcases.Entry{{Path: "SKILL.md", Text: text}, {Path: "old.md", Text: "x"}})
	if got, err := pack.Install(dest, source, pack.Options{}); err != nil || got.Replaced {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := os.Rename(filepath.Join(source, "old.md"), filepath.Join(source, "new.md")); err != nil {
		t.Fatal(err)
	}
	_, err := pack.Install(dest, source, pack.Options{})
	wantCode(t, "again", err, "already_exists")
	if got, err := pack.Install(dest, source, pack.Options{Force: true}); err != nil || !got.Replaced {
		t.Fatalf("%+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"my-skill", "my-skill/SKILL.md", "my-skill/new.md"}, tree(t, dest)); diff != "" {
		t.Errorf("installed (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", ".", "..", "nobody", "my-skill/new.md", "../dest/my-skill"} {
		wantCode(t, bad, pack.Remove(dest, bad), "not_found")
	}
	if err := pack.Remove(dest, "my-skill"); err != nil || len(tree(t, dest)) > 0 {
		t.Errorf("%v is left, %v", tree(t, dest), err)
	}
}

func FuzzInstall(f *testing.F) {
	f.Add([]byte("zip"), zipOf(f, file{"SKILL.md", text, 0}, file{"a/b", "c", 0o755}))
	f.Add([]byte("zip"), zipOf(f, file{"../SKILL.md", text, 0}))
	f.Add([]byte("tgz"), tarOf(f, &tar.Header{Name: "w/SKILL.md", Typeflag: tar.TypeReg, Linkname: text}))
	f.Fuzz(func(t *testing.T, kind, data []byte) {
		name := "x.zip"
		if string(kind) == "tgz" {
			name = "x.tgz"
		}
		dir := t.TempDir()
		dest := filepath.Join(dir, "in", "dest")
		source := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(source, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := pack.Install(dest, source, pack.Options{})
		if err == nil && got.Name != "my-skill" && len(got.Files) == 0 {
			t.Errorf("installed %+v", got)
		}
		left := slices.DeleteFunc(tree(t, dir), func(s string) bool {
			return s == "in" || s == "in/dest" || err == nil && (s == "in/dest/"+got.Name || strings.HasPrefix(s, "in/dest/"+got.Name+"/"))
		})
		if len(left) > 0 {
			t.Errorf("%v, and %v is left", err, left)
		}
	})
}
