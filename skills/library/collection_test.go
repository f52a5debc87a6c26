package library_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/repo"
)

func TestACollectionSaysWhatItLeavesOut(t *testing.T) {
	dir := t.TempDir()
	writeSkill(t, filepath.Join(dir, "a"), "one")
	writeSkill(t, filepath.Join(dir, "b"), "one")
	write(t, filepath.Join(dir, "c", "one", "SKILL.md"), "---\nname: one\ndescription: Another.\n---\n")
	write(t, filepath.Join(dir, "c", "mute", "SKILL.md"), "---\nname: mute\n---\n")
	write(t, filepath.Join(dir, "shared", "SKILL.md.txt"), "---\nname: linked\ndescription: By a link.\n---\n")
	write(t, filepath.Join(dir, "LICENSE"), "licence")
	for name, to := range map[string]string{"linked/SKILL.md": "../shared/SKILL.md.txt", "linked/LICENSE": "../LICENSE", "linked/out": "/etc/passwd", ".agents/skills": "../a", "away": "/etc"} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, at); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	address, _ := publish(t, dir)
	for name, from := range map[string]*repo.Source{"folder": nil, "repository": {URL: address}} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			path := dir
			if from != nil {
				path = ""
			}
			c, err := library.OpenCollection(t.Context(), path, from)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if diff := cmp.Diff([]string{"linked", "one"}, c.Names()); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			var problems []string
			for _, p := range c.Problems {
				problems = append(problems, p.Path+" "+p.Code)
				if strings.Contains(p.Message, dir) || strings.Contains(p.Message, "broker-fetched") {
					t.Errorf("%q has a path of this host", p.Message)
				}
			}
			slices.Sort(problems)
			want := []string{"b/one " + library.CodeCopy, "c/mute missing_description", "c/one " + library.CodeSameName}
			if from == nil {
				want = slices.Insert(want, 0, "away symlink_escape")
			} else if !slices.Contains(c.Notes, `link "away" is left out: it leads out of the repository`) {
				t.Errorf("notes = %v", c.Notes)
			}
			if diff := cmp.Diff(want, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			picked, err := c.Pick([]string{"linked"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.InstallSkill(t.Context(), picked[0], false)
			if err != nil || !slices.Equal(got.Files, []string{"LICENSE", "SKILL.md"}) {
				t.Errorf("installed %+v, %v", got, err)
			}
			if from == nil && (len(got.Notes) != 1 || !strings.Contains(got.Notes[0], `"out"`)) {
				t.Errorf("notes = %v", got.Notes)
			}
		})
	}
}

// A skill at the top of a repository that has no name gets that of the repository.
func TestARepositoryGivesItsName(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "SKILL.md"), "---\ndescription: Does. Use it.\n---\n")
	address, _ := publish(t, dir) // …/r.git
	c, err := library.OpenCollection(context.WithoutCancel(t.Context()), "", &repo.Source{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !slices.Equal(c.Names(), []string{"r"}) {
		t.Errorf("names = %v, want r", c.Names())
	}
	picked, err := c.Pick([]string{"r"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := newShelf(t).InstallSkill(t.Context(), picked[0], false); err != nil || got.Name != "r" || len(got.Diagnostics) != 1 {
		t.Errorf("installed %+v, %v", got, err)
	}
}
