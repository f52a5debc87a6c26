package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (w *workshop) link(name, to string) {
	w.t.Helper()
	at := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		w.t.Skip("no symbolic links here:", err)
	}
}

func TestLinksInsideARepositoryAreFollowed(t *testing.T) {
	w := newWorkshop(t)
	w.write("CLAUDE.md", "claude")
	w.write("LICENSE", "licence")
	w.write("shared/style.md", "style")
	w.write("shared/deep/more.md", "more")
	w.write("skills/a/SKILL.md", "a")
	w.link("AGENTS.md", "CLAUDE.md")
	w.link(".claude/skills", "../skills")
	w.link("shared/again", "deep")
	w.link("shared/up", "..")
	w.link("skills/a/LICENSE", "../../LICENSE")
	w.link("skills/a/references", "../../shared")
	w.link("skills/a/same", "SKILL.md")
	w.link("skills/a/out", "../../../LICENSE")
	w.link("skills/a/absolute", "/etc/passwd")
	w.link("skills/a/gone", "../../nothing")
	w.link("skills/a/loop", "loop")
	w.link("skills/a/through", "../../.claude/skills/a/SKILL.md")
	w.publish()
	for _, tt := range []struct {
		folder string
		reads  map[string]string
		notes  []string
	}{
		{"", map[string]string{"AGENTS.md": "claude", ".claude/skills/a/SKILL.md": "a", "skills/a/LICENSE": "licence", "skills/a/references/deep/more.md": "more", "skills/a/through": "a"}, []string{
			`link "skills/a/absolute" is left out: it leads out of the repository`,
			`link "skills/a/gone" is left out: it leads to nothing`,
			`link "skills/a/loop" is left out: it leads to nothing`,
			`link "skills/a/out" is left out: it leads out of the repository`,
		}},
		// Targets in other folders of the repository are copied.
		{"skills/a", map[string]string{"SKILL.md": "a", "same": "a", "LICENSE": "licence", "references/style.md": "style", "references/deep/more.md": "more", "references/again/more.md": "more"}, []string{
			`link "absolute" is left out: it leads out of the repository`,
			`link "gone" is left out: it leads to nothing`,
			`link "loop" is left out: it leads to nothing`,
			`link "out" is left out: it leads out of the repository`,
			`link "references/up" is left out: it leads to a folder that contains it`,
			`link "through" is left out: it leads to nothing`,
		}},
	} {
		got, _, dir, err := w.fetch(Source{Folder: tt.folder}, nil)
		if err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir) // its links stay inside
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		for name, want := range tt.reads {
			if text, err := root.ReadFile(filepath.FromSlash(name)); err != nil || string(text) != want {
				t.Errorf("%q: %s is %q, %v, want %q", tt.folder, name, text, err, want)
			}
		}
		slices.Sort(got.Notes)
		if diff := cmp.Diff(tt.notes, got.Notes); diff != "" {
			t.Errorf("%q: notes (-want +got):\n%s", tt.folder, diff)
		}
	}
}

// The target of a link to another folder may be too large; the rest is fetched.
func TestLinksToTooMuchAreLeftOut(t *testing.T) {
	w := newWorkshop(t)
	w.write("skills/a/SKILL.md", "a")
	w.write("few/x.md", "x")
	for i := range 20 {
		w.write(fmt.Sprintf("many/%d.md", i), "x")
	}
	w.link("skills/a/few", "../../few")
	w.link("skills/a/many", "../../many")
	w.publish()
	got, files, _, err := w.fetch(Source{Folder: "skills/a"}, &Options{Files: 10})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"SKILL.md", "few/x.md"}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`link "many" is left out: it leads to too much content`}, got.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// Trees of a hostile server have links at the paths of files.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	w := newWorkshop(t)
	w.write("file", "x")
	w.publish()
	blob := w.git("hash-object", "-w", "file")
	outside := t.TempDir()
	target := filepath.Join(w.dir, "target")
	if err := os.WriteFile(target, []byte(outside), 0o600); err != nil {
		t.Fatal(err)
	}
	link := w.git("hash-object", "-w", "target")
	if err := os.WriteFile(target, []byte("sub"), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := w.git("hash-object", "-w", "target")
	sub := mktree(w, "100644 blob "+blob+"\tx\n")
	for name, lines := range map[string]string{
		"a folder and a link out":    "120000 blob " + link + "\ta\n040000 tree " + sub + "\ta\n",
		"a folder and a link inside": "120000 blob " + inside + "\ta\n040000 tree " + sub + "\ta\n040000 tree " + sub + "\tsub\n",
		"a file and a link":          "100644 blob " + blob + "\ta\n120000 blob " + inside + "\ta\n040000 tree " + sub + "\tsub\n",
	} {
		commit := w.git("commit-tree", "-m", "x", mktree(w, lines))
		w.git("push", "--quiet", "--force", w.bare, commit+":refs/heads/main")
		_, _, _, err := w.fetch(Source{Ref: "main"}, nil)
		if err != nil && !strings.Contains(err.Error(), "twice") {
			t.Errorf("%s: %v", name, err)
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
			t.Fatalf("%s: something was written outside: %v, %v", name, entries, err)
		}
	}
}
