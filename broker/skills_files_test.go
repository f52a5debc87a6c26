package broker_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills"
)

// A filesRunner looks at the files of each program instead of running it.
type filesRunner struct {
	key   string
	files map[string]string
}

func (r *filesRunner) Run(_ context.Context, req sandbox.Request) (sandbox.Result, error) {
	r.key, r.files = req.Files.Key(), map[string]string{}
	if r.key == "" {
		return sandbox.Result{}, nil
	}
	for f, err := range req.Files.All {
		if err != nil {
			return sandbox.Result{}, err
		}
		r.files[req.Files.Dir+"/"+f.Path] = string(f.Data)
	}
	return sandbox.Result{}, nil
}

func (r *filesRunner) Close() error { return nil }

func TestScriptsFindTheFilesOfEnabledSkills(t *testing.T) {
	dir, registry := newSkills(t)
	if err := os.Symlink(filepath.Join(dir, "triage", "SKILL.md"), filepath.Join(dir, "release-notes", "out.md")); err != nil {
		t.Fatal(err)
	}
	var r filesRunner
	b := newBroker(t, broker.Deps{Runner: &r}, broker.Settings{Skills: registry})
	see := func() (key string, paths []string) {
		execute(t, b, "1")
		return r.key, slices.Sorted(maps.Keys(r.files))
	}
	all := []string{
		"/mnt/skills/dice/SKILL.md",
		"/mnt/skills/release-notes/SKILL.md", "/mnt/skills/release-notes/assets/logo.png", "/mnt/skills/release-notes/references/style.md",
		"/mnt/skills/release-notes/scripts/group.ts", "/mnt/skills/release-notes/scripts/lib/text.ts", "/mnt/skills/release-notes/scripts/notes.sh",
		"/mnt/skills/triage/SKILL.md", "/mnt/skills/triage/workflow.json",
	}
	key, paths := see()
	if diff := cmp.Diff(all, paths); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if again, _ := see(); again != key {
		t.Error("the key changes though no file does")
	}
	notes := filepath.Join(dir, "release-notes", "scripts", "notes.sh")
	if err := os.WriteFile(notes, []byte("echo other notes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	changed, _ := see()
	if changed == key || r.files["/mnt/skills/release-notes/scripts/notes.sh"] != "echo other notes\n" {
		t.Errorf("a file has changed: %v", r.files)
	}
	if err := skills.SetSwitch(skills.SwitchFile(dir+".state.json"), skills.KindSkill, "release-notes", false); err != nil {
		t.Fatal(err)
	}
	if k, paths := see(); k == changed || slices.ContainsFunc(paths, func(p string) bool { return strings.Contains(p, "release-notes") }) {
		t.Errorf("a skill is switched off, and its files are there: %v", paths)
	}
	// One that is too large is left out, and said so to who may be after it.
	if err := os.WriteFile(filepath.Join(dir, "triage", "big"), make([]byte, skills.MaxTotalBytes), 0o600); err != nil {
		t.Fatal(err)
	}
	a := execute(t, b, "/mnt/skills")
	if _, there := r.files["/mnt/skills/triage/SKILL.md"]; there || !strings.Contains(a.Hint, "the files of skill triage are not in /mnt/skills: ") {
		t.Errorf("a skill is too large: hint %q", a.Hint)
	}
}

// Every text that names the folder names that of the config.
func TestTheFolderOfSkillsIsThatOfTheConfig(t *testing.T) {
	_, registry := newSkills(t)
	var r filesRunner
	o := options{Deps: broker.Deps{Runner: &r, Languages: []sandbox.Language{sandbox.Python}}, Settings: broker.Settings{
		Skills:    registry,
		SkillsDir: "/srv/agent",
		Language:  sandbox.Python,
		Scripts:   broker.Scripts{Mode: broker.ScriptsSandbox},
	}}
	b := newBroker(t, o.Deps, o.Settings)
	execute(t, b, "1")
	if _, there := r.files["/srv/agent/dice/SKILL.md"]; !there {
		t.Errorf("files: %v", slices.Sorted(maps.Keys(r.files)))
	}
	text, _ := call(t, connect(t, b, "2025-11-25", nil), "activate_skill", map[string]any{"name": "release-notes"})
	for _, want := range []string{"Python in execute_code finds the files of this skill in /srv/agent/release-notes, read-only.", ", with its files in /srv/agent/release-notes:\n- scripts/"} {
		if !strings.Contains(text, want) {
			t.Errorf("activate_skill does not say %q:\n%s", want, text)
		}
	}
	o.SkillsDir = ""
	b.Apply(o.Settings)
	execute(t, b, "1")
	if _, there := r.files["/mnt/skills/dice/SKILL.md"]; !there {
		t.Errorf("files after a change of the config: %v", slices.Sorted(maps.Keys(r.files)))
	}
}

// What it costs to see that no file of two hundred skills has changed, which each
// script in a container waits for.
func BenchmarkFilesOfSkills(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "skills")
	for i := range 200 {
		files := map[string]string{}
		for j := range 7 {
			files[fmt.Sprintf("references/%d.md", j)] = strings.Repeat("text\n", 500)
		}
		writeSkill(b, dir, fmt.Sprintf("skill-%d", i), "Does it.", "Do it.", files)
	}
	var r keyRunner
	o := options{Deps: broker.Deps{Runner: &r}, Settings: broker.Settings{Skills: skillRegistry(dir)}}
	br := newBroker(b, o.Deps, o.Settings)
	b.ReportAllocs()
	for b.Loop() {
		br.Execute(b.Context(), broker.ExecuteRequest{Code: "1"})
	}
	b.ReportMetric(float64(r.took.Microseconds())/float64(r.n)/1000, "ms/key")
}

// A keyRunner asks for the key of the files of each program and for nothing else.
type keyRunner struct {
	took time.Duration
	n    int
}

func (r *keyRunner) Run(_ context.Context, req sandbox.Request) (sandbox.Result, error) {
	start := time.Now()
	req.Files.Key()
	r.took += time.Since(start)
	r.n++
	return sandbox.Result{}, nil
}

func (r *keyRunner) Close() error { return nil }
