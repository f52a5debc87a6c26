package skills_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills"
)

func TestPathsInURIs(t *testing.T) {
	for _, path := range []string{"local/user/release-notes/SKILL.md", "local/user/発表/references/a b.md", "plugin/50%/x/#1.md"} {
		uri := skills.URI(filepath.Dir(path), filepath.Base(path))
		for _, r := range uri {
			if r > 126 || strings.ContainsRune(" #", r) {
				t.Errorf("%s holds %q", uri, r)
			}
		}
		if got, ok := skills.PathOf(uri); got != path || !ok {
			t.Errorf("PathOf(%s) = %q, %v, want %q", uri, got, ok, path)
		}
	}
	if got := skills.URI("local/user/x", ""); got != "skill://local/user/x" {
		t.Errorf("the folder of a skill is %s", got)
	}
	for _, uri := range []string{"", "skill://", "skill:///a", "skill://a//b", "skill://a/", "skill://a/../b", "skill://a/%2e%2e/b", "skill://a/b%2Fc",
		"skill://a/b%5Cc", "skill://a/%zz", "skill://a?b", "skill://a#b", "file://a/b", "SKILL://a"} {
		if path, ok := skills.PathOf(uri); ok {
			t.Errorf("PathOf(%q) = %q, want nothing", uri, path)
		}
	}
}

func TestOnlyValidSkillsArePublished(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good/SKILL.md", skillText("good", "Is good."))
	write(t, dir, "extra/SKILL.md", "---\nname: extra\ndescription: Loads.\nversion: 1\n---\n")
	write(t, dir, "other/SKILL.md", skillText("another", "Has another name than its folder."))
	write(t, dir, "small/skill.md", skillText("small", "Its file is in lower case."))
	reg := registry(skills.Root{Path: dir, Scope: skills.ScopeUser})
	for _, v := range []skills.Virtual{{Name: "virtual", Description: "Is virtual."}, {Name: "hidden", Description: "For users.", ByUserOnly: true}} {
		if err := reg.Register(v); err != nil {
			t.Fatal(err)
		}
	}
	s := reg.Refresh()
	if n := len(s.Shown()); n != 5 {
		t.Errorf("%d skills load, want 5", n)
	}
	var got []string
	for _, k := range s.Published() {
		got = append(got, k.At())
	}
	if diff := cmp.Diff([]string{"local/user/good", "virtual/virtual"}, got); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

func TestFilesAreServedAsListed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "k/SKILL.md", skillText("k", "Has files."))
	write(t, dir, "k/references/a.md", "a\r\n")
	write(t, dir, "k/references/inner/SKILL.md", skillText("inner", "Is nested."))
	write(t, dir, "k/.git/config", "secret")
	write(t, dir, "k/logo.png", "\x89PNG\x00")
	write(t, dir, "outside.txt", "secret")
	if err := os.Symlink("../outside.txt", filepath.Join(dir, "k", "link.txt")); err != nil {
		t.Skip("no links here:", err)
	}
	k, err := registry(skills.Root{Path: dir, Scope: skills.ScopeUser}).Refresh().Get("k")
	if err != nil {
		t.Fatal(err)
	}
	children := func(dir string) (list []string) {
		nodes, err := k.Children(dir)
		if err != nil {
			return []string{err.Error()}
		}
		for _, n := range nodes {
			list = append(list, fmt.Sprintf("%s %v %d %s", n.Path, n.Dir, n.Size, n.MIMEType))
		}
		return list
	}
	for dir, want := range map[string][]string{
		"":                 {"SKILL.md false 45 text/markdown", "logo.png false 5 image/png", "references true 0 "},
		"references":       {"references/a.md false 3 text/markdown", "references/inner true 0 "},
		"references/inner": {"references/inner/SKILL.md false 53 text/markdown"},
		"references/a.md":  {`"references/a.md" is not a folder of skill "k"`},
		".git":             {`".git" is not a folder of skill "k"`},
	} {
		if diff := cmp.Diff(want, children(dir)); diff != "" {
			t.Errorf("in %q (-want +got):\n%s", dir, diff)
		}
	}
	if data, mime, err := k.Bytes("references/a.md"); string(data) != "a\r\n" || mime != "text/markdown" || err != nil {
		t.Errorf("%q %s %v", data, mime, err)
	}
	for _, path := range []string{".git/config", "link.txt", "../outside.txt", "references", ""} {
		if data, _, err := k.Bytes(path); code(t, err) != "not_found" {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
}

func TestSkillsBeyondTheLimitsAreNotServed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "big/SKILL.md", skillText("big", "Is big."))
	for i := range 2 {
		name := fmt.Sprintf("big/%d.bin", i)
		write(t, dir, name, "")
		if err := os.Truncate(filepath.Join(dir, name), skills.MaxTotalBytes/2); err != nil {
			t.Fatal(err)
		}
	}
	k, err := registry(skills.Root{Path: dir, Scope: skills.ScopeUser}).Refresh().Get("big")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Manifest("big"); code(t, err) != "too_large" {
		t.Errorf("manifest: %v", err)
	}
	if _, _, err := k.Bytes("SKILL.md"); code(t, err) != "too_large" {
		t.Errorf("read: %v", err)
	}
	if _, err := k.Children(""); code(t, err) != "too_large" {
		t.Errorf("list: %v", err)
	}
}

func TestDigestsFollowTheFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "k/SKILL.md", skillText("k", "Has a file."))
	file := filepath.Join(dir, "k", "a.md")
	write(t, dir, "k/a.md", "one")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	reg := registry(skills.Root{Path: dir, Scope: skills.ScopeUser})
	digest := func() string {
		k, err := reg.Refresh().Get("k")
		if err != nil {
			t.Fatal(err)
		}
		m, err := k.Manifest("k")
		if err != nil {
			t.Fatal(err)
		}
		return m.Resources[1].Digest
	}
	one := digest()
	if again := digest(); again != one {
		t.Errorf("the same file has the digests %s and %s", one, again)
	}
	write(t, dir, "k/a.md", "two") // the same size, another time
	two := digest()
	write(t, dir, "k/a.md", "six") // perhaps within the same tick of the clock
	if six := digest(); one == two || two == six {
		t.Errorf("digests of one, two and six: %s, %s, %s", one, two, six)
	}
}

func TestSkillsThatChangeHaveNoDigests(t *testing.T) {
	k, err := skills.Virtual{Name: "report", Description: "Of today.", Changing: true, Files: fstest.MapFS{"today.md": {Data: []byte("x")}}}.Skill()
	if err != nil {
		t.Fatal(err)
	}
	m, err := k.Manifest(k.At())
	if err != nil || !m.Dynamic || len(m.Resources) != 0 || m.URI != "skill://virtual/report/SKILL.md" || string(m.Frontmatter) != `{"name":"report","description":"Of today."}` {
		t.Errorf("%+v %s, %v", m, m.Frontmatter, err)
	}
}
