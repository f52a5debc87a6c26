package broker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// A script joins what a skill brings, its files, tools and code, with a tool of
// a server; of the skill nothing but the result is seen by the model.
func TestScriptsUseSkills(t *testing.T) {
	_, r := newSkills(t)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: r})
	for _, c := range []struct{ name, code, want string }{
		{"a module and what it imports", `
			import { group } from './skills/release-notes/scripts/group.ts';
			return group([await files.readFile({ path: 'a' }), 'b']);`, `"TEXT OF A+B"`},
		{"a file", `return (await skills.read('release-notes', 'references/style.md')).length`, `17000`},
		{"a tool", `return await skills.call('dice', 'roll', { sides: 6 })`, `{"input":{"sides":6},"rolled":4}`},
		{"a tool without input", `return (await skills.call('dice', 'roll')).rolled`, `4`},
		{"a workflow", `
			const first = await skills.call('triage', 'start', { path: 'a' });
			const wrong = await skills.call('triage', 'advance', { session: first.session, answer: {} });
			const last = await skills.call('triage', 'advance', { session: first.session, answer: { level: 1 } });
			return [first.prompt, wrong.status, last.status, last.result];`, `["Rate text of a.","error","done",{"level":1}]`},
		{"errors are typed", `
			try { await skills.read('release-notes', 'nothing.md') } catch (e) { return [e.name, e.code] }`, `["SkillError","not_found"]`},
	} {
		a := execute(t, b, c.code)
		if diff := cmp.Diff(c.want, string(a.Result)); diff != "" || a.ExitCode != 0 {
			t.Errorf("%s: exit %d %s (-want +got):\n%s", c.name, a.ExitCode, a.Stderr, diff)
		}
	}
	for _, c := range []struct {
		name, code string
		exit       int
		want       string
	}{
		{"an unknown module", `import { group } from './skills/release-notes/scripts/grop.ts'; return group([])`, 2, "did you mean ./skills/release-notes/scripts/group"},
		{"an unknown export", `import { grup } from './skills/release-notes/scripts/group.ts'; return grup([])`, 2, "grup"},
		{"an unknown skill", `return await skills.read('relase-notes', 'a.md')`, 1, "did you mean release-notes?"},
		{"a skill for users only", `return await skills.read('deploy', 'list.md')`, 1, "unknown skill"},
		{"a way out", `return await skills.read('release-notes', '../triage/SKILL.md')`, 1, "leads out of the skill"},
		{"no path", `return await skills.read('release-notes')`, 1, "use it as in skills.read('release-notes', 'references/style.md')"},
		{"no tool", `return await skills.call('dice')`, 1, "use it as in skills.call("},
	} {
		a := execute(t, b, c.code)
		if a.ExitCode != c.exit || !strings.Contains(a.Stderr, c.want) {
			t.Errorf("%s: exit %d, stderr %q, want %d and %q in it", c.name, a.ExitCode, a.Stderr, c.exit, c.want)
		}
	}
	// A workflow that a script drives acts through the script's own bridge.
	a := execute(t, b, `await skills.call('triage', 'start', { path: 'a' })`)
	if len(a.ToolsCalled) != 1 || a.ToolsCalled[0].Tool != "files__read_file" {
		t.Errorf("tools_called %+v, want the action of the workflow", a.ToolsCalled)
	}
}

// What a script imports from a skill has been read, and the record says so once
// for each file.
func TestModulesOfSkillsAreRecordedAsRead(t *testing.T) {
	dir, r := newSkills(t)
	writeSkill(t, dir, "refs", "Keep references. Use for references.", "Import scripts/m.ts.", map[string]string{
		"scripts/m.ts": "export const f = () => 'm';", "scripts/big.ts": "export const g = 1;" + strings.Repeat(" ", 1<<20), "scripts/odd.ts": "\xff\x00",
	})
	store, err := sqlite.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	b := newBroker(t, broker.Deps{Audit: store}, broker.Settings{Skills: r})
	b.RefreshSkills()
	for _, c := range []struct {
		code string
		exit int
		want string
	}{
		{`import { f } from './skills/refs/scripts/m.ts'; return f();`, 0, ""},
		{`import { g } from './skills/refs/scripts/big.ts'; return g;`, 2, `module "./skills/refs/scripts/big.ts" cannot be imported: the modules of a skill have at most 1 MiB together, and scripts/big.ts has 1048595 bytes: skills.read("refs", "scripts/big.ts") reads up to 4 MiB as text`},
		{`import { h } from './skills/refs/scripts/odd'; return h;`, 2, `cannot be imported: "scripts/odd.ts" is not text`},
		{`return 1`, 0, ""},
	} {
		if a := execute(t, b, c.code); a.ExitCode != c.exit || !strings.Contains(a.Stderr, c.want) {
			t.Errorf("%s: exit %d, stderr %q, want %d and %q in it", c.code, a.ExitCode, a.Stderr, c.exit, c.want)
		}
	}
	events, err := store.Events(t.Context(), time.Time{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range events {
		if e.Kind == state.EventSkillFileRead && e.Name == "refs" && e.Digest != "" {
			count[e.Detail]++
		}
	}
	if count["local:user scripts/m.ts, 27 bytes"] != 3 || len(count) != 2 {
		t.Errorf("events %v, want scripts/m.ts once for each of three scripts, and that odd.ts could not be read", count)
	}
}

// A compiler that checks the types of scripts finds the modules of skills.
func TestSkillModulesPassTheTypeCheck(t *testing.T) {
	_, r := newSkills(t)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: r, Typecheck: nativeCompiler(t), TypecheckStrict: true})
	a := execute(t, b, `import { group } from './skills/release-notes/scripts/group.ts'; return group(['a', 'b']);`)
	if string(a.Result) != `"A+B"` || a.Stderr != "" {
		t.Errorf("exit %d, result %s, stderr %s", a.ExitCode, a.Result, a.Stderr)
	}
}
