package pack_test

import (
	stdcmp "cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/internal/skillcases"
	"github.com/mcpbroker/mcpbroker/skills/pack"
)

func symlink(t *testing.T, to, at string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		t.Skip("no symbolic links here:", err)
	}
}

func TestLinksThatStayInsideAreFollowed(t *testing.T) {
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	secret := filepath.Join(dir, "secret")
	skillcases.Write(t, dir, []skillcases.Entry{
		{Path: "secret/key", Text: "secret"}, {Path: "repo/LICENSE", Text: "licence"}, {Path: "repo/shared/style.md", Text: "style"}, {Path: "repo/shared/deep/more.md", Text: "more"},
		{Path: "repo/skills/my-skill/AGENTS.md", Text: "agents"}, {Path: "repo/texts/SKILL.md", Text: text}, {Path: "repo/.git/config", Text: "token"},
	})
	skill := filepath.Join(repo, "skills", "my-skill")
	for name, to := range map[string]string{
		"SKILL.md": "../../texts/SKILL.md", "LICENSE": "../../LICENSE", "CLAUDE.md": "AGENTS.md", "references": "../../shared", "chain": "references/deep",
		"out": "../../../secret/key", "absolute": secret, "gone": "nothing", "loop": "loop", "up": "..", "top": "../..", "self": ".", "git": "../../.git",
	} {
		symlink(t, to, filepath.Join(skill, name))
	}
	dest := filepath.Join(dir, "dest")
	got, err := pack.Install(dest, skill, pack.Options{Within: repo})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"AGENTS.md", "CLAUDE.md", "LICENSE", "SKILL.md", "chain/more.md", "references/deep/more.md", "references/style.md"}
	if diff := cmp.Diff(want, got.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	slices.Sort(got.Notes)
	wantNotes := []string{
		`link "absolute" is left out: it leads out of the folder or to itself`,
		`link "git" is left out: it leads into a .git folder`,
		`link "gone" is left out: it leads to nothing`,
		`link "loop" is left out: it leads out of the folder or to itself`,
		`link "out" is left out: it leads out of the folder or to itself`,
		`link "self" is left out: it leads to a folder that contains it`,
		`link "top" is left out: it leads to a folder that contains it`,
		`link "up" is left out: it leads to a folder that contains it`,
	}
	if diff := cmp.Diff(wantNotes, got.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	for _, name := range got.Files {
		if info, err := os.Lstat(filepath.Join(got.Path, filepath.FromSlash(name))); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s is not a file of its own: %v, %v", name, info, err)
		}
	}
	// Without the repository around it, the same links lead out.
	if _, err := pack.Install(dest, skill, pack.Options{Force: true}); err == nil || !strings.Contains(err.Error(), "SKILL.md") {
		t.Errorf("the skill alone: %v, want its SKILL.md to be missing", err)
	}
}

// A link to too much content is left out; the skill is installed.
func TestLinksToTooMuchAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	entries := []skillcases.Entry{{Path: "r/s/SKILL.md", Text: text}, {Path: "r/few/a.md", Text: "a"}, {Path: "r/large/x", Text: strings.Repeat("x", 17<<20)}}
	for i := range 520 {
		entries = append(entries, skillcases.Entry{Path: fmt.Sprintf("r/many/%d.md", i), Text: "x"})
	}
	skillcases.Write(t, dir, entries)
	for _, name := range []string{"few", "large", "many"} {
		symlink(t, "../"+name, filepath.Join(dir, "r", "s", name))
	}
	got, err := pack.Install(filepath.Join(dir, "dest"), filepath.Join(dir, "r", "s"), pack.Options{Within: filepath.Join(dir, "r")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"SKILL.md", "few/a.md"}, got.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`link "large" is left out: it leads to too much content`, `link "many" is left out: it leads to too much content`}, got.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// Folders that contain each other many times through links are finite.
func TestLinksDoNotMultiplyWithoutEnd(t *testing.T) {
	dir := t.TempDir()
	skillcases.Write(t, dir, []skillcases.Entry{{Path: "s/SKILL.md", Text: text}})
	for i := range 20 {
		folder := filepath.Join(dir, "s", "f"+string(rune('a'+i)))
		next := "../f" + string(rune('a'+i+1))
		if i == 19 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, name := range []string{"x", "y", "z"} {
			symlink(t, next, filepath.Join(folder, name))
		}
	}
	dest := filepath.Join(dir, "dest")
	if got, err := pack.Install(dest, filepath.Join(dir, "s"), pack.Options{}); err == nil {
		if n := len(got.Notes); n == 0 || n > 30 {
			t.Errorf("%d notes: %v", n, got.Notes)
		}
	} else {
		wantCode(t, "many links", err, "archive_too_many_files", "archive_bad_entry")
	}
}

// What the catalogue loads with a warning is installed with it, unless strict.
func TestWhatLoadsInstalls(t *testing.T) {
	for name, tt := range map[string]struct {
		header, folder string
		codes          []string
		loads          bool
	}{
		"documented fields": {"name: a\ndescription: Does. Use when asked.\nversion: 1.0\nmodel: opus\nargument-hint: [x] [y]\ndisable-model-invocation: true\ncontext: fork\nauthor: me\ntags: [a, b]\nwhen_to_use: always\nhooks:\n  PreToolUse:\n    - matcher: Bash", "a", []string{"yaml_repaired", "unknown_field"}, true},
		"tools as a list":   {"name: a\ndescription: Does.\nallowed-tools:\n  - Read\n  - Bash(git:*)", "a", []string{"allowed_tools_not_string"}, true},
		"tools in brackets": {"name: a\ndescription: Does.\nallowed-tools: [Read, \"Bash(git:*)\"]", "a", []string{"allowed_tools_not_string"}, true},
		"metadata objects":  {"name: a\ndescription: Does.\nmetadata:\n  openclaw:\n    requires: {bins: [x]}", "a", []string{"metadata_value_not_string"}, true},
		"a colon":           {"name: a\ndescription: Use when: asked", "a", []string{"yaml_repaired"}, true},
		"a colon later":     {"name: a\ndescription: Use\n  when: asked", "a", []string{"yaml_repaired"}, true},
		"a block":           {"name: a\ndescription: >-\n  Use when: asked\n  <b>" + strings.Repeat(" and then", 120), "a", []string{"description_angle_bracket", "description_too_long"}, true},
		"no name":           {"description: Does.", "source", []string{"missing_name"}, true},
		"an empty name":     {"name:\ndescription: Does.", "source", []string{"empty_name"}, true},
		"upper case":        {"name: Agent Development\ndescription: Does.", "Agent Development", []string{"name_not_lowercase", "name_bad_char"}, true},
		"a path as name":    {"name: sales/call:prep\ndescription: Does.", "sales-call-prep", []string{"name_bad_char"}, true},
		"dots as name":      {"name: ../../x\ndescription: Does.", "x", []string{"name_bad_char"}, true},
		"only dots":         {"name: '..'\ndescription: Does.", "", nil, false},
		"no description":    {"name: a", "", nil, false},
		"an anchor":         {"name: a\ndescription: &x Does.", "", nil, false},
		"a tag":             {"name: a\ndescription: !!python/name Does.", "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			skillcases.Write(t, dir, []skillcases.Entry{{Path: "source/SKILL.md", Text: "---\n" + tt.header + "\n---\nBody.\n"}})
			dest := filepath.Join(dir, "dest")
			source := filepath.Join(dir, "source")
			_, err := pack.Install(dest, source, pack.Options{Strict: true})
			wantCode(t, "strict", err, "invalid_skill")
			got, err := pack.Install(dest, source, pack.Options{})
			if !tt.loads {
				wantCode(t, name, err, "invalid_skill")
				if left := tree(t, dest); len(left) > 0 {
					t.Errorf("%v is left", left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Path != filepath.Join(dest, tt.folder) {
				t.Errorf("path %s, want the folder %s", got.Path, tt.folder)
			}
			var codes []string
			for _, d := range got.Diagnostics {
				codes = append(codes, d.Code)
			}
			for _, want := range tt.codes {
				if !slices.Contains(codes, want) {
					t.Errorf("warnings %v, want %s", codes, want)
				}
			}
		})
	}
}

// The name of an upload is arbitrary.
func TestASkillWithoutANameDoesNotGetThatOfAnUpload(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct{ entry, want string }{"flat": {"SKILL.md", ""}, "in a folder": {"mine/SKILL.md", "mine"}} {
		source := filepath.Join(dir, "upload-123.zip")
		if err := os.WriteFile(source, zipOf(t, file{tt.entry, "---\ndescription: Does.\n---\n", 0}), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := pack.Install(filepath.Join(dir, "dest"), source, pack.Options{Anonymous: true})
		if tt.want == "" {
			wantCode(t, name, err, "invalid_skill")
		} else if err != nil || got.Name != tt.want {
			t.Errorf("%s: %+v, %v, want %s", name, got, err, tt.want)
		}
		if got, err := pack.Install(filepath.Join(dir, "named"), source, pack.Options{Force: true}); err != nil || got.Name != stdcmp.Or(tt.want, "upload-123") {
			t.Errorf("%s from a file of the user: %+v, %v", name, got, err)
		}
	}
}
