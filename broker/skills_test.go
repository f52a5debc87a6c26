package broker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// writeSkill makes a skill in dir, with files by path.
func writeSkill(t testing.TB, dir, name, description, body string, files map[string]string) {
	t.Helper()
	write := func(path, text string) {
		file := filepath.Join(dir, name, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("SKILL.md", fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n\n%s\n", name, description, body))
	for path, text := range files {
		write(path, text)
	}
}

// skillRegistry finds the skills in dir; what is off is in the file beside it.
func skillRegistry(dir string) *skills.Registry {
	return skills.NewRegistry(&skills.Options{
		Roots: func() ([]skills.Root, []skills.Problem) {
			return []skills.Root{{Path: dir, Scope: skills.ScopeUser}}, nil
		},
		Switches: skills.SwitchFile(dir + ".state.json"),
	})
}

const triage = `{
  "start": "fetch",
  "params": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
  "steps": {
    "fetch": {"action": {"tool": "files__read_file", "input": {"path": "{{params.path}}"}}, "next": "rate"},
    "rate": {"prompt": "Rate {{steps.fetch}}.", "answer": {"type": "object", "properties": {"level": {"type": "integer"}}, "required": ["level"]}}
  }
}`

// newSkills is a folder with three skills, and a registry that has a virtual
// one beside them.
func newSkills(t testing.TB) (dir string, r *skills.Registry) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "skills")
	writeSkill(t, dir, "release-notes", "Write release notes. Use for a release.", "Read references/style.md first. Args: $ARGUMENTS", map[string]string{
		"references/style.md": strings.Repeat("Short sentences.\n", 1000),
		"scripts/group.ts":    "import { upper } from './lib/text';\nexport function group(xs: string[]): string { return upper(xs.join('+')); }\n",
		"scripts/lib/text.ts": "export const upper = (s: string) => s.toUpperCase();\n",
		"assets/logo.png":     "\x89PNG\r\n\x1a\n\x00\x00\x00",
		"scripts/notes.sh":    "echo notes\n",
	})
	writeSkill(t, dir, "triage", "Rate a file. Use for triage.", "Run the workflow.", map[string]string{"workflow.json": triage})
	writeSkill(t, dir, "deploy", "Deploy it.\ndisable-model-invocation: true", "Deploy $0 now.", map[string]string{"list.md": "- one\n"})
	r = skillRegistry(dir)
	err := r.Register(skills.Virtual{
		Name: "dice", Description: "Throw dice. Use when chance decides.", Body: "Use the tool roll.",
		Tools: []skills.Tool{
			{Name: "roll", Description: "Throw one.", InputSchema: json.RawMessage(`{"type":"object"}`), Handler: func(_ context.Context, in json.RawMessage) (any, error) {
				return map[string]any{"rolled": 4, "input": in}, nil
			}},
			{Name: "lose", Handler: func(context.Context, json.RawMessage) (any, error) { panic("the die is gone") }},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func TestSkillToolsAreThereWhenASkillIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "skills")
	changed := make(chan struct{}, 10)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: skillRegistry(dir)})
	cs := connect(t, b, "2025-11-25", &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} }})
	expect := func(when, want string) {
		t.Helper()
		res, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range res.Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: the tools are %s, want %s", when, got, want)
		}
	}
	next := func(when string) {
		t.Helper()
		b.RefreshSkills()
		select {
		case <-changed:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: nobody said that the tools have changed", when)
		}
	}
	const none, all = "execute_code list_servers search_tools", "activate_skill call_skill_tool execute_code list_servers read_skill_file search_tools"
	expect("without a skill", none)
	writeSkill(t, dir, "release-notes", "Write release notes.", "Do it.", nil)
	next("with a new skill")
	expect("with a new skill", all)
	if err := skills.SetSwitch(skills.SwitchFile(dir+".state.json"), skills.KindSkill, "release-notes", false); err != nil {
		t.Fatal(err)
	}
	next("switched off")
	expect("switched off", none)
	if text, isError := call(t, connect(t, newBroker(t, broker.Deps{}, broker.Settings{Skills: skillRegistry(dir)}), "2025-11-25", nil), "search_tools", map[string]any{"query": "file"}); isError {
		t.Errorf("a broker without skills: %s", text)
	}
}

func TestSkillsThroughMCP(t *testing.T) {
	_, r := newSkills(t)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: r})
	cs := connect(t, b, "2026-07-28", nil)
	for _, c := range []struct {
		name, tool string
		args       map[string]any
		isError    bool
		want       []string
	}{
		{"activate", "activate_skill", map[string]any{"name": "release-notes", "arguments": "v2"}, false,
			[]string{`<skill_content name="release-notes" origin="local:user">`, "Args: v2", "<file>references/style.md</file>"}},
		{"again", "activate_skill", map[string]any{"name": "release-notes", "arguments": "v2"}, false, []string{"is active already"}},
		{"by force", "activate_skill", map[string]any{"name": "release-notes", "arguments": "v2", "force": true}, false, []string{"Args: v2"}},
		{"unknown", "activate_skill", map[string]any{"name": "relase-notes"}, true, []string{"skill_not_found: ", "did you mean release-notes?"}},
		{"by users only", "activate_skill", map[string]any{"name": "deploy"}, true, []string{"skill_not_found: "}},
		{"none", "activate_skill", map[string]any{}, true, []string{"which skill?"}},
		{"tools of a virtual one", "activate_skill", map[string]any{"name": "dice"}, false, []string{`<tool name="roll">Throw one.`}},
		{"a workflow", "activate_skill", map[string]any{"name": "triage"}, false, []string{`tool "start" and this input: {"type":"object"`}},

		{"a page", "read_skill_file", map[string]any{"skill": "release-notes", "path": "references/style.md", "offset": 6, "limit": 10}, false,
			[]string{`{"text":"sentences.","offset":6,"next_offset":16,"total_bytes":17000,"truncated":true,"mime_type":"text/markdown"}`}},
		{"a folder", "read_skill_file", map[string]any{"skill": "release-notes", "path": "references"}, false, []string{"style.md"}},
		{"no such file", "read_skill_file", map[string]any{"skill": "release-notes", "path": "references/stile.md"}, true, []string{"not_found: ", "references/style.md"}},
		{"a way out", "read_skill_file", map[string]any{"skill": "release-notes", "path": "../triage/SKILL.md"}, true, []string{"path_escape: "}},
		{"no text", "read_skill_file", map[string]any{"skill": "release-notes", "path": "assets/logo.png"}, true, []string{"binary_file: ", "image/png, 11 bytes"}},
		{"a file that nobody may see", "read_skill_file", map[string]any{"skill": "deploy", "path": "list.md"}, true, []string{"skill_not_found: "}},

		{"a handler", "call_skill_tool", map[string]any{"skill": "dice", "tool": "roll", "input": map[string]any{"n": 1}}, false, []string{`{"input":{"n":1},"rolled":4}`}},
		{"input in a string", "call_skill_tool", map[string]any{"skill": "dice", "tool": "roll", "input": `{"n":1}`}, false, []string{`{"input":{"n":1},"rolled":4}`}},
		{"one that panics", "call_skill_tool", map[string]any{"skill": "dice", "tool": "lose"}, true, []string{"its handler panicked: the die is gone"}},
		{"no such tool", "call_skill_tool", map[string]any{"skill": "dice", "tool": "rol"}, true, []string{"tool_not_found: ", "did you mean roll?"}},
		{"a script", "call_skill_tool", map[string]any{"skill": "release-notes", "tool": "scripts/notes.sh"}, true, []string{"script_refused: ", "read_skill_file"}},
		{"no tool", "call_skill_tool", map[string]any{"skill": "dice"}, true, []string{"which tool of the skill?"}},
		{"nearly a workflow's", "call_skill_tool", map[string]any{"skill": "triage", "tool": "advnce"}, true, []string{"did you mean advance?"}},
	} {
		text, isError := call(t, cs, c.tool, c.args)
		if isError != c.isError {
			t.Errorf("%s: error %v: %s", c.name, isError, text)
		}
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: the answer lacks %s:\n%s", c.name, w, text)
			}
		}
	}
}

// A workflow's actions are calls like those of scripts: policed, recorded, made
// once. Its sessions outlive the broker and belong to one client.
func TestWorkflowsThroughMCP(t *testing.T) {
	_, r := newSkills(t)
	stateDir := t.TempDir()
	store, err := sqlite.Open(stateDir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	o := options{Deps: broker.Deps{Audit: store, Workflows: files.OpenDocuments(filepath.Join(stateDir, "workflows"))}, Settings: broker.Settings{Skills: r}}
	type result struct{ Session, Status, Step, Prompt, Message string }
	run := func(b *broker.Broker, tool string, input any) (res result, isError bool) {
		t.Helper()
		text, isError := call(t, connect(t, b, "2025-11-25", nil), "call_skill_tool", map[string]any{"skill": "triage", "tool": tool, "input": input})
		if err := json.Unmarshal([]byte(text), &res); err != nil {
			t.Fatalf("%s: %v: %s", tool, err, text)
		}
		return res, isError
	}
	first := newBroker(t, o.Deps, o.Settings)
	if res, isError := run(first, "start", map[string]any{}); !isError || !strings.Contains(res.Message, "path") {
		t.Errorf("params that lack one: %+v, want an error that names it", res)
	}
	begun, isError := run(first, "start", map[string]any{"path": "a.txt"})
	if isError || begun.Status != "prompt" || begun.Prompt != "Rate text of a.txt." {
		t.Fatalf("start: %+v", begun)
	}
	if res, isError := run(first, "advance", map[string]any{"session": begun.Session, "answer": map[string]any{"level": "high"}}); !isError || res.Status != "error" {
		t.Errorf("an answer of the wrong form: %+v, want an error", res)
	}
	o.Runner = nil // the next broker has its own
	second := newBroker(t, o.Deps, o.Settings)
	done, isError := run(second, "advance", map[string]any{"session": begun.Session, "answer": map[string]any{"level": 3}})
	if isError || done.Status != "done" {
		t.Errorf("advance in the next broker: %+v, want done", done)
	}
	list, err := store.List(t.Context(), state.Filter{Limit: 20})
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, x := range list {
		calls += x.Calls
	}
	if calls != 1 {
		t.Errorf("%d calls are recorded, want the one that the workflow made", calls)
	}
	events, err := store.Events(t.Context(), time.Time{}, 50)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range events {
		found = found || e.Kind == state.EventSkillToolCalled && e.Name == "triage" && e.Detail == "local:user advance" && !e.Failed && strings.HasPrefix(e.Digest, "sha256:")
	}
	if !found {
		t.Errorf("no event says that the workflow went on: %+v", events)
	}
}

// Five skills beside twenty servers stay within what an agent pays each turn.
func TestSkillSurfaceKeepsToItsBudget(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "skills")
	for _, s := range [][2]string{
		{"release-notes", "Write release notes from merged pull requests. Use before a release."},
		{"triage", "Sort new issues by severity. Use when issues pile up."},
		{"sql-reports", "Build weekly SQL reports. Use for figures of a team."},
		{"pdf-forms", "Fill in and sign PDF forms. Use when a form is attached."},
		{"brand-voice", "Write in the voice of our brand. Use for all public text."},
	} {
		writeSkill(t, dir, s[0], s[1], "Do it.", nil)
	}
	var golden bytes.Buffer
	for _, mode := range []broker.Mode{broker.ModeCode, broker.ModeAuto, broker.ModeTools} {
		b, err := broker.New(broker.Deps{Runner: worker.New(&worker.Options{Spares: -1})}, broker.Settings{Servers: surfaceServers(20), Mode: mode, Skills: skillRegistry(dir)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		n := surfaceTokens(t, b.Surface())
		fmt.Fprintf(&golden, "mode %s: %d tokens\n", mode, n)
		if n > 900 {
			t.Errorf("mode %s: %d tokens with 20 servers and 5 skills, want at most 900", mode, n)
		}
		if text := b.Surface().Instructions; !strings.Contains(text, "activate_skill") || len([]rune(text)) >= 512 {
			t.Errorf("mode %s: the instructions name no skills, or are too long: %s", mode, text)
		}
		if len(b.Surface().Tools) != 6 {
			t.Errorf("mode %s: %d tools", mode, len(b.Surface().Tools))
		}
		if mode == broker.ModeCode {
			for _, tool := range b.Surface().Tools {
				if strings.Contains(tool.Name, "skill") {
					fmt.Fprintf(&golden, "\n%s\n%s\n%s\n", tool.Name, tool.Description, tool.InputSchema)
				}
			}
		}
	}
	wantGolden(t, "testdata/skills_surface.golden", golden.String())
}

func TestSkillsAreFound(t *testing.T) {
	_, r := newSkills(t)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: r})
	cs := connect(t, b, "2025-11-25", nil)
	text, _ := call(t, cs, "search_tools", map[string]any{"query": "write release notes"})
	const want = `{"kind":"skill","name":"release-notes","origin":"local:user","use":"activate_skill {\"name\":\"release-notes\"}","description":"Write release notes."}`
	if !strings.Contains(text, want) {
		t.Errorf("the search answers %s, want %s in it", text, want)
	}
	for query, want := range map[string]string{
		"write release notes": `\nFiles: SKILL.md, assets/logo.png, references/style.md`,
		"rate a file triage":  `Use for triage.\nTools: start, advance\nFiles: SKILL.md, workflow.json`,
		"throw dice":          `Use when chance decides.\nTools: roll, lose`,
		"throw one die roll":  `{"kind":"skill_tool","name":"dice/roll","use":"call_skill_tool {\"skill\":\"dice\",\"tool\":\"roll\"} and this input: {\"type\":\"object\"}","description":"Throw one."}`,
	} {
		if text, _ := call(t, cs, "search_tools", map[string]any{"query": query, "detail": "full"}); !strings.Contains(text, want) {
			t.Errorf("the search for %s in full answers %s, want %s in it", query, text, want)
		}
	}
	if text, _ := call(t, cs, "search_tools", map[string]any{"query": "deploy"}); strings.Contains(text, `"name":"deploy"`) {
		t.Errorf("a skill for users only is found: %s", text)
	}
}

func TestSkillsAndCommandsArePrompts(t *testing.T) {
	dir, r := newSkills(t)
	home := filepath.Join(t.TempDir(), "sales")
	for path, text := range map[string]string{
		".claude-plugin/plugin.json": `{"name": "sales"}`,
		"commands/report.md":         "---\ndescription: Write a report.\nargument-hint: REGION\n---\nReport on $0 for $1.\n",
	} {
		file := filepath.Join(home, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := plugin.Load(home)
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 10)
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: r, Commands: p.Commands})
	cs := connect(t, b, "2025-11-25", &mcp.ClientOptions{PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) { changed <- struct{}{} }})
	list, err := cs.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list.Prompts {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "deploy dice release-notes sales:report triage use-broker" {
		t.Errorf("the prompts are %s", got)
	}
	get := func(name, arguments string) string {
		t.Helper()
		res, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name, Arguments: map[string]string{"arguments": arguments}})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Messages) != 1 || res.Messages[0].Role != "user" {
			t.Fatalf("%s gives %d messages", name, len(res.Messages))
		}
		return res.Messages[0].Content.(*mcp.TextContent).Text
	}
	if text := get("sales:report", `north "last year"`); text != "Report on north for last year." {
		t.Errorf("the command says %q", text)
	}
	if text, isError := call(t, cs, "read_skill_file", map[string]any{"skill": "deploy", "path": "list.md"}); !isError {
		t.Errorf("a file of a skill that nobody has picked is read: %s", text)
	}
	if text := get("deploy", "blue"); !strings.Contains(text, "Deploy blue now.") {
		t.Errorf("the skill says %q", text)
	}
	if text, isError := call(t, cs, "read_skill_file", map[string]any{"skill": "deploy", "path": "list.md"}); isError {
		t.Errorf("a file of a skill that the user has picked: %s", text)
	}
	if !strings.Contains(get("use-broker", ""), "search_tools") {
		t.Error("use-broker does not say how to use the broker")
	}
	writeSkill(t, dir, "another", "Another one.", "Do it.", nil)
	b.RefreshSkills()
	select {
	case <-changed:
	case <-time.After(20 * time.Second):
		t.Error("nobody said that the prompts have changed")
	}
}
