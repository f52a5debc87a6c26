package skills_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/skillcases"
	"github.com/mcpbroker/mcpbroker/skills"
)

func TestABundleChangesWithAnyByteOfTheSkill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no executable bit")
	}
	root := t.TempDir()
	skillcases.Write(t, root, []skillcases.Entry{
		{Path: "out.txt", Text: "outside"},
		{Path: "s/SKILL.md", Text: "---\nname: s\ndescription: Does it.\n---\n"},
		{Path: "s/scripts/a.sh", Text: "#!/bin/sh\n", Mode: "0755"},
		{Path: "s/.git/config", Text: "x"},
		{Path: "s/out", Symlink: "../out.txt"},
	})
	load := func() *skills.Skill {
		k, err := skills.NewRegistry(&skills.Options{Roots: func() ([]skills.Root, []skills.Problem) {
			return []skills.Root{{Path: root, Scope: skills.ScopeUser}}, nil
		}}).Refresh().Get("s")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	digest := func() string {
		b, err := load().Bundle()
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, f := range b.Files {
			paths = append(paths, f.Path)
		}
		if !slices.Contains(paths, "SKILL.md") || slices.Contains(paths, "out") || slices.Contains(paths, ".git/config") {
			t.Errorf("files: %v", paths)
		}
		return b.Digest
	}
	stamp := func() string {
		s, _, err := load().Stamp()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	seen, stamps := []string{digest()}, []string{stamp()}
	if again := digest(); again != seen[0] {
		t.Errorf("%s and %s of the same files", seen[0], again)
	}
	script := filepath.Join(root, "s", "scripts", "a.sh")
	for _, change := range []struct {
		name string
		do   func() error
	}{
		{"a byte", func() error { return os.WriteFile(script, []byte("#!/bin/ssh\n"), 0o755) }},
		{"the mode", func() error { return os.Chmod(script, 0o644) }},
		{"the name", func() error { return os.Rename(script, script+"x") }},
		{"a new file", func() error { return os.WriteFile(filepath.Join(root, "s", "new"), nil, 0o644) }},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		if d := digest(); slices.Contains(seen, d) {
			t.Errorf("%s: the digest is an old one", change.name)
		} else {
			seen = append(seen, d)
		}
		if s := stamp(); slices.Contains(stamps, s) {
			t.Errorf("%s: the stamp is an old one", change.name)
		} else {
			stamps = append(stamps, s)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "s", "big"), []byte(strings.Repeat("x", skills.MaxTotalBytes)), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := load().Bundle()
	_, _, err2 := load().Stamp()
	for _, err := range []error{err, err2} {
		if e, ok := errors.AsType[*skills.FileError](err); !ok || e.Code != "too_large" {
			t.Errorf("more than the limit: %v", err)
		}
	}
}
