package skills_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills"
)

const right = "---\nname: pdf-tools\ndescription: Fill forms. Use for PDF files.\nlicense: MIT\nmetadata:\n  version: 1.0\n---\n\n# How\n--- not a fence\n"

func TestParse(t *testing.T) {
	for _, text := range []string{right, strings.ReplaceAll(right, "\n", "\r\n")} {
		got, err := skills.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want := &skills.Skill{Name: "pdf-tools", Description: "Fill forms. Use for PDF files.", License: "MIT",
			Metadata: map[string]string{"version": "1.0"}, Body: "# How\n--- not a fence\n"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("skill (-want +got):\n%s", diff)
		}
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	header := func(lines string) string { return "---\n" + lines + "\n---\nbody" }
	for _, c := range []struct{ text, want string }{
		{"", "no header"},
		{"# no header", "no header"},
		{"---\nname: x\ndescription: y\n", "no header"},
		{" ---\nname: x\n---\n", "no header"},
		{header("description: y"), "name is missing"},
		{header("name: x"), "description is missing"},
		{header("name: Upper\ndescription: y"), `has 'U'`},
		{header("name: a--b\ndescription: y"), "hyphens stand alone"},
		{header("name: -a\ndescription: y"), "hyphens stand alone"},
		{header("name: a_b\ndescription: y"), `has '_'`},
		{header("name: " + strings.Repeat("a", 65) + "\ndescription: y"), "65 characters"},
		{header("name: x\ndescription: " + strings.Repeat("d", 1025)), "1025 characters"},
		{header("name: x\ndescription: [a]"), "description is not text"},
		{header("name: x\nname: x\ndescription: y"), "name is there twice"},
		{header("name: &a x\ndescription: *a"), "anchors"},
		{header("name: x\ndescription: y\nmetadata: [1]"), "metadata"},
		{header("- a"), "not a list of key"},
		{header("name: \"x"), "header"},
		{"---\nname: \xff\n---\n", "not UTF-8"},
	} {
		if _, err := skills.Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%.60q) = %v, want %q in it", c.text, err, c.want)
		}
	}
}

func TestLoadStaysInItsRoot(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("root/pdf-tools/SKILL.md", right)
	write("root/other/SKILL.md", right)
	write("outside/SKILL.md", right)
	write("root/large/SKILL.md", right+strings.Repeat("x", 1<<20))
	if err := os.Symlink(filepath.Join(dir, "outside"), filepath.Join(dir, "root", "linked")); err != nil {
		t.Skip("needs symbolic links:", err)
	}
	root, err := os.OpenRoot(filepath.Join(dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if s, err := skills.Load(root, "pdf-tools"); err != nil || s.Name != "pdf-tools" {
		t.Errorf("Load = %v, %v", s, err)
	}
	if _, err := skills.Load(root, "other"); !errors.Is(err, skills.ErrField) {
		t.Errorf("a name that is not the folder's: %v", err)
	}
	if _, err := skills.Load(root, "nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such skill: %v", err)
	}
	if _, err := skills.Load(root, "large"); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("a large file: %v", err)
	}
	for _, way := range []string{"linked", "../outside"} {
		if s, err := skills.Load(root, way); err == nil {
			t.Errorf("%s leads out of the root: %+v", way, s)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(right))
	f.Add([]byte("---\n---\n---"))
	f.Add([]byte("---\na: &a [*a]\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := skills.Parse(data)
		if err == nil && (s.Name == "" || s.Description == "") {
			t.Errorf("accepted %q without name or description", data)
		}
	})
}
