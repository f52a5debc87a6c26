package skills_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/skills"
)

// write puts a file into a folder.
func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// skillText is a SKILL.md with these lines in its header.
func skillText(name, description string, lines ...string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n" + strings.Join(append(lines, ""), "\n") + "---\n\n# " + name + "\n"
}

func refs(list []*skills.Skill) []string {
	names := []string{}
	for _, s := range list {
		names = append(names, s.Ref)
	}
	return names
}

func wantRefs(t *testing.T, what string, list []*skills.Skill, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), refs(list)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestRefreshSeesWhatChanged(t *testing.T) {
	dir := t.TempDir()
	late := filepath.Join(dir, "late")
	switches := filepath.Join(dir, "state.json")
	reg := skills.NewRegistry(&skills.Options{Switches: skills.SwitchFile(switches), Roots: func() ([]skills.Root, []skills.Problem) {
		return []skills.Root{{Path: filepath.Join(dir, "early"), Scope: skills.ScopeUser}, {Path: late, Scope: skills.ScopeUser}}, nil
	}})
	write(t, dir, "early/a/SKILL.md", skillText("a", "First."))
	first := reg.Refresh()
	wantRefs(t, "first", first.Shown(), "a")
	if again := reg.Refresh(); again != first {
		t.Error("nothing has changed, but the snapshot is another")
	}
	for _, step := range []struct {
		what   string
		change func()
		want   []string
	}{
		{"a text", func() { write(t, dir, "early/a/SKILL.md", skillText("a", "Another text.")) }, []string{"a"}},
		{"a new skill", func() { write(t, dir, "early/b/SKILL.md", skillText("b", "Second.")) }, []string{"a", "b"}},
		{"a new root", func() { write(t, late, "c/SKILL.md", skillText("c", "Third.")) }, []string{"a", "b", "c"}},
		{"a switch", func() {
			if err := skills.SetSwitch(skills.SwitchFile(switches), skills.KindSkill, "b", false); err != nil {
				t.Fatal(err)
			}
		}, []string{"a", "c"}},
		{"a broken switch file", func() { write(t, dir, "state.json", `{"skills": 1`) }, nil},
		{"a mended one", func() { write(t, dir, "state.json", `{"skills": {"b": {}}, "plugins": null}`) }, []string{"a", "b", "c"}},
		{"a removed skill", func() {
			if err := os.RemoveAll(filepath.Join(late, "c")); err != nil {
				t.Fatal(err)
			}
		}, []string{"a", "b"}},
		{"a virtual one", func() {
			if err := reg.Register(skills.Virtual{Name: "v", Description: "Virtual."}); err != nil {
				t.Fatal(err)
			}
		}, []string{"a", "b", "v"}},
	} {
		before := reg.Snapshot()
		step.change()
		s := reg.Refresh()
		if s == before {
			t.Errorf("%s: not seen", step.what)
		}
		wantRefs(t, step.what, s.Shown(), step.want...)
	}
	wantRefs(t, "the first snapshot stays", first.Shown(), "a")
	if s, err := reg.Snapshot().Find("a"); err != nil || s.Description != "Another text." {
		t.Errorf("Find(a) = %v, %v", s, err)
	}
}

// A workflow that cannot be run is reported until it is fixed; the skill still loads.
func TestABrokenWorkflowIsRemarked(t *testing.T) {
	dir := t.TempDir()
	reg := skills.NewRegistry(&skills.Options{Roots: func() ([]skills.Root, []skills.Problem) {
		return []skills.Root{{Path: dir, Scope: skills.ScopeUser}}, nil
	}})
	write(t, dir, "a/SKILL.md", skillText("a", "First."))
	for _, step := range []struct{ flow, want string }{
		{"", ""},
		{`{"start": "x", "steps": {"a": {}}, "result": {"n": 1}}`, `workflow_invalid: workflow.json: start: there is no step "x"`},
		{"{\"start\": \"x\",\n\"stesp\": {}, \"nam\": 1}", `workflow_invalid: workflow.json: line 2: unknown key "stesp", did you mean "steps"?; line 2: unknown key "nam", did you mean "name"?`},
		{`{"start": "a", "steps": {"a": {}}}`, ""},
	} {
		if step.flow != "" {
			write(t, dir, "a/workflow.json", step.flow)
		}
		k, err := reg.Refresh().Find("a")
		if err != nil {
			t.Fatal(err)
		}
		var remarks []string
		for _, d := range k.Diagnostics {
			if d.Severity != skills.Warning {
				t.Errorf("with %s: it is an %s", step.flow, d.Severity)
			}
			remarks = append(remarks, d.Code+": "+d.Message)
		}
		if got := strings.Join(remarks, "\n"); got != step.want || !k.Valid {
			t.Errorf("with %s: valid is %v, and the remarks are\n%s, want\n%s", step.flow, k.Valid, got, step.want)
		}
	}
}

func TestNamesAreResolvedByScope(t *testing.T) {
	dir := t.TempDir()
	var roots []skills.Root
	for _, s := range []skills.Scope{skills.ScopePlugin, skills.ScopePublic, skills.ScopeUser, skills.ScopeCustom, skills.ScopeConfigured, skills.ScopeProject} {
		root := skills.Root{Path: filepath.Join(dir, string(s)), Scope: s}
		if s == skills.ScopePlugin {
			root.Plugin = "sales"
			write(t, root.Path, "plan/SKILL.md", skillText("plan", "Of a plugin."))
		}
		write(t, root.Path, "same/SKILL.md", skillText("same", "From "+string(s)+"."))
		roots = append(roots, root)
	}
	reg := registry(roots...)
	if err := reg.Register(skills.Virtual{Name: "same", Description: "Virtual."}); err != nil {
		t.Fatal(err)
	}
	s := reg.Refresh()
	wantRefs(t, "all", s.All(), "plan", "sales:same", "same")
	if k, err := s.Get("same"); err != nil || k.Origin() != "local:project" {
		t.Errorf("same is %v, %v", k, err)
	}
	if k, err := s.Get("sales:plan"); err != nil || k.Origin() != "plugin:sales" {
		t.Errorf("sales:plan is %v, %v", k, err)
	}
	shadowed := 0
	for _, p := range s.Problems {
		if p.Code == "shadowed" {
			shadowed++
		}
	}
	if shadowed != 5 { // four folders and the virtual one
		t.Errorf("%d are shadowed, want 5: %v", shadowed, s.Problems)
	}
}

func TestAnExcludedSkillTakesNoName(t *testing.T) {
	dir := t.TempDir()
	roots := []skills.Root{
		{Path: filepath.Join(dir, "pa"), Scope: skills.ScopeConfigured},
		{Path: filepath.Join(dir, "home"), Scope: skills.ScopeUser},
		{Path: filepath.Join(dir, "sales"), Scope: skills.ScopePlugin, Plugin: "sales"},
	}
	for i, names := range [][]string{{"both", "alone", "bought"}, {"both", "off"}, {"bought", "off"}} {
		for _, n := range names {
			write(t, roots[i].Path, n+"/SKILL.md", skillText(n, "One."))
		}
	}
	switches := filepath.Join(dir, "state.json")
	if err := skills.SetSwitch(skills.SwitchFile(switches), skills.KindSkill, "off", false); err != nil {
		t.Fatal(err)
	}
	s := skills.NewRegistry(&skills.Options{
		Roots:    func() ([]skills.Root, []skills.Problem) { return roots, nil },
		Switches: skills.SwitchFile(switches), Exclude: []string{"local:configured"},
	}).Refresh()
	got := map[string]string{}
	for _, k := range s.All() {
		got[k.Ref] = k.Origin() + " " + string(k.State)
	}
	want := map[string]string{
		"both": "local:user enabled", "alone": "local:configured excluded", "bought": "plugin:sales enabled",
		"off": "local:user disabled", "sales:off": "plugin:sales enabled", // what is switched off keeps its name
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if len(s.Problems) != 0 {
		t.Errorf("nothing is wrong, but: %v", s.Problems)
	}
}

func TestHiddenSkillsAreUnknownToModels(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "plain/SKILL.md", skillText("plain", "Plain."))
	write(t, dir, "manual/SKILL.md", skillText("manual", "By users.", "disable-model-invocation: true"))
	write(t, dir, "inner/SKILL.md", skillText("inner", "Not by users.", "user-invocable: false"))
	write(t, dir, "old-plan/SKILL.md", skillText("old-plan", "Excluded."))
	reg := skills.NewRegistry(&skills.Options{
		Roots: func() ([]skills.Root, []skills.Problem) {
			return []skills.Root{{Path: dir, Scope: skills.ScopeUser}}, nil
		},
		Exclude: []string{"old-*"},
	})
	s := reg.Refresh()
	wantRefs(t, "shown", s.Shown(), "inner", "plain")
	wantRefs(t, "prompts", s.Prompts(), "manual", "plain")
	wantRefs(t, "all", s.All(), "inner", "manual", "old-plan", "plain")
	for _, name := range []string{"manual", "old-plan", "plane"} {
		_, err := s.Get(name)
		if code(t, err) != "skill_not_found" {
			t.Errorf("Get(%s) = %v", name, err)
		}
		if name != "plane" && strings.Contains(err.Error(), name+",") {
			t.Errorf("Get(%s) tells of it: %v", name, err)
		}
	}
	if _, err := s.Get("plane"); !strings.Contains(err.Error(), "did you mean plain?") {
		t.Errorf("Get(plane) = %v", err)
	}
}

func TestProjectLinksStayInTheProject(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "outside/s/SKILL.md", skillText("s", "Outside."))
	write(t, dir, "project/lib/k/SKILL.md", skillText("k", "Inside."))
	write(t, dir, "project/.git/x", "")
	if err := os.MkdirAll(filepath.Join(dir, "project/sub/.agents/skills"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"out": "../../../../outside/s", "in": "../../../lib/k", "nowhere": "nothing"} {
		if err := os.Symlink(filepath.FromSlash(to), filepath.Join(dir, "project/sub/.agents/skills", link)); err != nil {
			t.Skip("needs symbolic links:", err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "outside"), filepath.Join(dir, "project/.agents")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "outside/skills/z/SKILL.md", skillText("z", "Outside."))
	places := skills.Places{Scan: true, Dir: filepath.Join(dir, "project/sub"), Home: filepath.Join(dir, "home")}
	roots, problems := places.Roots()
	if len(problems) == 0 || slices.ContainsFunc(roots, func(r skills.Root) bool { return r.Scope == skills.ScopeProject }) {
		t.Errorf("an untrusted project gives %v and %v", roots, problems)
	}
	places.Trusted = func(project string) bool { return project == filepath.Join(dir, "project") }
	roots, _ = places.Roots()
	s := registry(roots...).Refresh()
	wantRefs(t, "of the project", s.All(), "k")
	escapes := 0
	for _, p := range s.Problems {
		if p.Code == "symlink_escape" {
			escapes++
		}
	}
	if escapes != 2 {
		t.Errorf("%d links lead out, want 2: %v", escapes, s.Problems)
	}
	// The user's own links may lead anywhere.
	s = registry(skills.Root{Path: filepath.Join(dir, "project/sub/.agents/skills"), Scope: skills.ScopeUser}).Refresh()
	wantRefs(t, "of the user", s.All(), "k", "s")
}

func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "home/.claude/skills/u/SKILL.md", skillText("u", "User."))
	write(t, dir, "home/.agents/skills/u2/SKILL.md", skillText("u2", "User."))
	write(t, dir, "env/e/SKILL.md", skillText("e", "Env."))
	write(t, dir, "paths/p/SKILL.md", skillText("p", "Path."))
	write(t, dir, "root/public/w/SKILL.md", skillText("w", "Public."))
	write(t, dir, "root/custom/c/SKILL.md", skillText("c", "Custom."))
	write(t, dir, "root/flat/SKILL.md", skillText("flat", "Beside."))
	at := func(name string) string { return filepath.Join(dir, name) }
	roots, _ := skills.Places{
		Path: at("root"), Paths: []string{at("paths")}, Scan: true, Home: at("home"), Dir: at("home"),
		Env: at("env") + string(filepath.ListSeparator) + at("missing"),
	}.Roots()
	var got []string
	s := registry(roots...).Refresh()
	for _, k := range s.All() {
		got = append(got, k.Ref+" "+k.Origin())
	}
	want := []string{"c local:custom", "e local:configured", "flat local:custom", "p local:configured", "u local:user", "u2 local:user", "w local:public"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	if len(s.Problems) != 1 || s.Problems[0].Code != "missing_folder" || s.Problems[0].Path != at("missing") {
		t.Errorf("problems: %v, want that the folder is missing which somebody named", s.Problems)
	}
}

func TestLimitsOfTheWalk(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "1/2/3/4/5/six/SKILL.md", skillText("six", "Six levels deep."))
	write(t, dir, "1/2/3/4/5/6/seven/SKILL.md", skillText("seven", "Too deep."))
	write(t, dir, "six/inner/SKILL.md", skillText("other", "x"))
	write(t, dir, "six/SKILL.md", skillText("outer", "A skill is not searched.", "x: y"))
	write(t, dir, skills.TempPrefix+"1/t/SKILL.md", skillText("t", "Being written."))
	wantRefs(t, "found", registry(skills.Root{Path: dir, Scope: skills.ScopeUser}).Refresh().All(), "outer", "six")
}

func TestCatalogueKeepsItsBudget(t *testing.T) {
	for _, c := range []struct {
		skills int
		prefix string
	}{{5, "<available_skills>\n<skill>"}, {212, "<available_skills>skill-0, "}, {900, "900 skills"}} {
		reg := skills.NewRegistry(nil)
		for i := range c.skills {
			if err := reg.Register(skills.Virtual{Name: fmt.Sprintf("skill-%d-of-many", i), Description: strings.Repeat("Does something useful. ", 12)}); err != nil {
				t.Fatal(err)
			}
		}
		want := strings.ReplaceAll(c.prefix, "skill-0", "skill-0-of-many")
		text := reg.Snapshot().Catalogue(0)
		if n := skills.Tokens(text); n > skills.DefaultBudget || !strings.HasPrefix(text, want) {
			t.Errorf("%d skills: %d tokens, begins %.80q, want %q", c.skills, n, text, want)
		}
	}
}

func TestSwitchesKeepWhatElseIsInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "state.json")
	write(t, filepath.Dir(path), "state.json", `{"own": [1], "skills": {"a": {"note": "mine", "enabled": true}}}`)
	for _, c := range []struct {
		kind skills.Kind
		id   string
		on   bool
	}{{skills.KindSkill, "a", false}, {skills.KindSkill, "b", true}, {skills.KindPlugin, "p", false}} {
		if err := skills.SetSwitch(skills.SwitchFile(path), c.kind, c.id, c.on); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"own\": [\n    1\n  ],\n  \"plugins\": {\n    \"p\": {\n      \"enabled\": false\n    }\n  },\n  \"skills\": {\n    \"a\": {\n      \"enabled\": false,\n" +
		"      \"note\": \"mine\"\n    },\n    \"b\": {\n      \"enabled\": true\n    }\n  }\n}\n"
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	s, err := skills.ReadSwitches(skills.SwitchFile(path))
	if err != nil || s.On(skills.KindSkill, "a") || !s.On(skills.KindSkill, "b") || s.On(skills.KindPlugin, "p") || !s.On(skills.KindPlugin, "a") {
		t.Errorf("switches %+v, %v", s, err)
	}
	write(t, filepath.Dir(path), "state.json", "[]")
	if err := skills.SetSwitch(skills.SwitchFile(path), skills.KindSkill, "a", true); err == nil {
		t.Error("a broken file was written over")
	}
}

// thousand is a folder with as many skills of the usual size.
func thousand(b *testing.B) string {
	dir := b.TempDir()
	for i := range 1000 {
		name := fmt.Sprintf("skill-%d", i)
		write(b, dir, name+"/SKILL.md", skillText(name, "Formats widget reports: "+"use it when a report is wanted.", "license: MIT")+strings.Repeat("0123456789abcdef\n", 435))
		write(b, dir, name+"/references/guide.md", "guide")
	}
	return dir
}

func BenchmarkDiscoverThousand(b *testing.B) {
	roots := skills.Root{Path: thousand(b), Scope: skills.ScopeUser}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			if n := len(registry(roots).Refresh().All()); n != 1000 {
				b.Fatal(n)
			}
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		reg := registry(roots)
		reg.Refresh()
		for b.Loop() {
			reg.Refresh()
		}
	})
	b.Run("activate", func(b *testing.B) {
		s := registry(roots).Refresh()
		for b.Loop() {
			if _, err := s.Activate(nil, "skill-500", "", false); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestEditsOfOneFileDoNotLoseEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "beside", "state.json")
	var wg sync.WaitGroup
	const many = 20
	for i := range many {
		wg.Go(func() {
			if err := skills.SetSwitch(skills.SwitchFile(path), skills.KindSkill, fmt.Sprintf("s%d", i), false); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := skills.Entries(skills.SwitchFile(path), skills.KindSkill)
	if err != nil || len(got) != many {
		t.Errorf("%d entries are left (%v), want %d", len(got), err, many)
	}
	clear := func(e map[string]json.RawMessage) { delete(e, "enabled") }
	if err := skills.EditEntry(skills.SwitchFile(path), skills.KindSkill, "s0", clear); err != nil {
		t.Fatal(err)
	}
	if got, err = skills.Entries(skills.SwitchFile(path), skills.KindSkill); err != nil || got["s0"] != nil || len(got) != many-1 {
		t.Errorf("an entry that is empty stays: %v, %v", got["s0"], err)
	}
}

// The user of one skill sees its changes and its switches.
func TestRefreshForLooksAtWhatMatters(t *testing.T) {
	dir := t.TempDir()
	switches := filepath.Join(dir, "state.json")
	put := func(name, description string) {
		write(t, dir, "skills/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: "+description+"\n---\n")
	}
	put("a", "One.")
	put("b", "Two.")
	r := skills.NewRegistry(&skills.Options{Switches: skills.SwitchFile(switches), Roots: func() ([]skills.Root, []skills.Problem) {
		return []skills.Root{{Path: filepath.Join(dir, "skills"), Scope: skills.ScopeUser}}, nil
	}})
	first := r.Refresh()
	if first.Len() != 2 || !first.Contains("a") || first.Contains("c") {
		t.Errorf("%d skills", first.Len())
	}
	put("b", "Two, in other words.")
	if r.RefreshFor("a") != first {
		t.Error("a change of b is seen by who goes on with a")
	}
	second := r.RefreshFor("b")
	if k, err := second.Find("b"); err != nil || k.Description != "Two, in other words." {
		t.Errorf("b: %+v, %v", k, err)
	}
	put("c", "Three.")
	if third := r.RefreshFor("c"); !third.Contains("c") {
		t.Error("a new skill is not found")
	}
	if err := skills.SetSwitch(skills.SwitchFile(switches), skills.KindSkill, "a", false); err != nil {
		t.Fatal(err)
	}
	if k, err := r.RefreshFor("a").Find("a"); err != nil || k.State != skills.Disabled {
		t.Errorf("a is switched off: %+v, %v", k, err)
	}
}
