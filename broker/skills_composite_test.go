package broker_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

const desk = `{"start": "what", "steps": {"what": {"prompt": "What is it?", "answer": {"type": "object", "required": ["kind"]}, "next": [
	{"when": {"path": "answer.kind", "equals": "bug"}, "to": "subskill:bug"}, {"to": "topic:hours"}]}},
  "subskills": {
    "bug": {"params": {"path": "{{answer.path}}"}, "workflow": {"start": "read", "params": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "steps": {"read": {"action": {"tool": "files__read_file", "input": {"path": "{{params.path}}"}}, "next": "fix"}, "fix": {"prompt": "Fix {{steps.read}}."}}}},
    "order": {"workflow": {"start": "ask", "steps": {"ask": {"prompt": "Order what?"}}}}},
  "topics": {"hours": {"label": "when we work", "file": "references/hours.md"}, "gone": {"file": "references/gone.md"}, "out": {"file": "../../secret.md"}}}`

// The subskills and topics of a skill are tools of it, and what they bring is
// bounded, cleaned and on record.
func TestCompositeSkillsThroughMCP(t *testing.T) {
	dir, r := newSkills(t)
	hours := "From 9 to 17.\x1b[2J\u202e " + strings.Repeat("Never on Sundays. ", 2000)
	writeSkill(t, dir, "desk", "Desk. Use it.", "Go.", map[string]string{"workflow.json": desk, "references/hours.md": hours})
	stateDir := t.TempDir()
	store, err := sqlite.Open(stateDir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	o := options{Deps: broker.Deps{Audit: store, Workflows: files.OpenDocuments(filepath.Join(stateDir, "workflows"))}, Settings: broker.Settings{Skills: r}}
	cs := connect(t, newBroker(t, o.Deps, o.Settings), "2025-11-25", nil)
	use := func(cs *mcp.ClientSession, tool string, input any) (string, bool) {
		return call(t, cs, "call_skill_tool", map[string]any{"skill": "desk", "tool": tool, "input": input})
	}
	text, _ := call(t, cs, "activate_skill", map[string]any{"name": "desk"})
	for _, want := range []string{`With tool "bug/start" and this input: {"type":"object"`, `With tool "order/start", only that part runs.`, "Tool \"topic\" with input {\"name\"} looks up one of:\n- gone\n- hours: when we work"} {
		if !strings.Contains(text, want) {
			t.Errorf("the activation lacks %q:\n%s", want, text)
		}
	}
	for _, c := range []struct {
		tool  string
		input any
		want  string
		fails bool
	}{
		{"bug/start", map[string]any{"params": map[string]any{"path": "a.txt"}}, `"step":"bug/fix","prompt":"Fix text of a.txt."`, false},
		{"order/start", nil, `"step":"order/ask"`, false},
		{"bug/start", nil, `\"path\" is missing`, true},
		{"bugs/start", nil, `did you mean bug/start`, true},
		{"topic", map[string]any{"name": "hour"}, `unknown topic \"hour\": did you mean hours?`, true},
		{"topic", map[string]any{"nane": "hours"}, `did you mean name?; the input of topic is {"name": "…"}`, true},
		{"topic", nil, `unknown topic \"\"; there are gone, hours, out`, true},
		{"topic", map[string]any{"name": "gone"}, `not_found: `, true},
		{"topic", map[string]any{"name": "out"}, `path_escape: `, true},
	} {
		if text, failed := use(cs, c.tool, c.input); failed != c.fails || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: %s, want %s", c.tool, c.input, text, c.want)
		}
	}
	text, failed := use(cs, "topic", map[string]any{"topic": "hours"})
	if failed || !strings.Contains(text, "From 9 to 17.") || strings.ContainsAny(text, "\x1b\u202e") || len(text) > 15_000 {
		t.Errorf("the topic, %d bytes: %.300q", len(text), text)
	}

	// Another broker goes on where this one was.
	text, _ = use(cs, "start", nil)
	var begun struct{ Session string }
	if err := json.Unmarshal([]byte(text), &begun); err != nil {
		t.Fatal(text)
	}
	advance := map[string]any{"session": begun.Session, "answer": map[string]any{"kind": "bug", "path": "b.txt"}}
	if text, failed := use(cs, "advance", advance); failed || !strings.Contains(text, `"step":"bug/fix"`) {
		t.Errorf("in the subskill: %s", text)
	}
	other := connect(t, newBroker(t, o.Deps, o.Settings), "2025-11-25", nil)
	if text, failed := use(other, "advance", map[string]any{"session": begun.Session}); failed || !strings.Contains(text, `"step":"bug/fix","prompt":"Fix text of b.txt."`) {
		t.Errorf("another broker: %s", text)
	}
	if text, failed := use(other, "advance", map[string]any{"session": begun.Session, "answer": "done it"}); failed || !strings.Contains(text, `"result":"done it"`) {
		t.Errorf("the end: %s", text)
	}
	events, err := store.Events(t.Context(), time.Time{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, e := range events {
		if e.Kind == state.EventSkillWorkflow || e.Kind == state.EventSkillFileRead {
			seen = append(seen, e.Detail)
		}
	}
	for _, want := range []string{begun.Session[:8] + " entered bug", "came bug/fix", "references/hours.md, ", "references/gone.md failed: not_found"} {
		if !strings.Contains(strings.Join(seen, "\n"), want) {
			t.Errorf("no event says %q:\n%s", want, strings.Join(seen, "\n"))
		}
	}
}

// The preamble names the tools of the client that asks, or of the host of the
// config, and conditions know the tools of servers.
func TestPreamblesNameTheToolsOfTheClient(t *testing.T) {
	dir, r := newSkills(t)
	writeSkill(t, dir, "plan", "Plan. Use it.", "Go.", map[string]string{"workflow.json": `{"start": "a", "steps": {
		"a": {"prompt": [{"plan": {"steps": ["x"]}}, {"subagent": {"prompt": "{{host}}"}}, "{{tools.files__read_file}}{{tools.files__gone}}"]}}}`})
	b := newBroker(t, broker.Deps{}, broker.Settings{Skills: r})
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for client, want := range map[string]string{
			"claude-code":           `with your tool EnterPlanMode, and wait`,
			"gemini-cli-mcp-client": `with your tool invoke_agent, and go on`,
			"cursor-vscode":         `<subagent no-recurse=\"plan\">cursor</subagent>\ntrue"`,
			"Some Editor":           `as a numbered list`,
		} {
			near, far := mcp.NewInMemoryTransports()
			server, err := b.Server("test").Connect(t.Context(), near, nil)
			if err != nil {
				t.Fatal(err)
			}
			cs, err := mcp.NewClient(&mcp.Implementation{Name: client, Version: "1"}, nil).Connect(t.Context(), far, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			text, failed := call(t, cs, "call_skill_tool", map[string]any{"skill": "plan", "tool": "start"})
			if failed || !strings.Contains(text, want) {
				t.Errorf("%s, %s: %s, want %s", client, version, text, want)
			}
			_, _ = cs.Close(), server.Close()
		}
	}
	for _, c := range []struct {
		host workflow.Host
		want string
	}{
		{workflow.Host{Name: "codex"}, "with your tool spawn_agent"},
		{workflow.Host{Tools: []string{"task"}}, "with your tool task"},
		{workflow.Host{Name: "codex", Subagent: true}, "do the work by itself"},
	} {
		b.Apply(broker.Settings{Skills: r, WorkflowHost: c.host})
		if text, _ := call(t, connect(t, b, "2025-11-25", nil), "call_skill_tool", map[string]any{"skill": "plan", "tool": "start"}); !strings.Contains(text, c.want) {
			t.Errorf("%+v: %s", c.host, text)
		}
	}
}

// The composite skill of the documentation runs as the page says, also when its
// client and its broker are others than before.
func TestTheCompositeSkillOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/skills.md")
	if err != nil {
		t.Fatal(err)
	}
	var definition strings.Builder
	for _, block := range strings.Split(string(page), "```json\n")[1:] {
		if block, _, _ = strings.Cut(block, "```"); strings.Contains(block, `"subskills"`) {
			definition.WriteString(block)
		}
	}
	dir, r := newSkills(t)
	writeSkill(t, dir, "shop", "Help with the shop's API. Use it.", "Go.", map[string]string{"workflow.json": definition.String(), "references/limits.md": "Ten a minute."})
	if list, err := skills.Lint(filepath.Join(dir, "shop"), nil); err != nil || slices.ContainsFunc(list, func(d skills.Diagnostic) bool { return strings.Contains(d.Message, "workflow.json") }) {
		t.Errorf("lint: %v, %v", list, err)
	}
	o := options{Deps: broker.Deps{Workflows: files.OpenDocuments(t.TempDir())}, Settings: broker.Settings{Skills: r}}
	for _, path := range [][][2]string{ // the answer, and what comes then
		{{``, `"step":"want"`}, {`{"what":"repair"}`, `"step":"doctor/cause","prompt":"Find the cause in this log:\n<rendered>text of errors.log</rendered>"`},
			{`"a typo"`, `<plan summary=\"Fix a typo\">`}, {`"done"`, `"result":{"cause":"a typo"}`}},
		{{``, `"step":"want"`}, {`{"what":"setup"}`, `"step":"setup/port"`}, {`8080`, `<confirm>Use api.example.com:8080?</confirm>`}, {`{"approved":true}`, `"result":{"host":"api.example.com","port":8080}`}},
		{{``, `"step":"want"`}, {`{"what":"limits"}`, `"result":{"content":"Ten a minute.","topic":"limits"}`}},
	} {
		var begun struct{ Session string }
		for _, step := range path { // each with a broker and a client of its own
			cs := connect(t, newBroker(t, o.Deps, o.Settings), "2025-11-25", &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
			args := map[string]any{"skill": "shop", "tool": "start"}
			if step[0] != "" {
				args["tool"], args["input"] = "advance", map[string]any{"session": begun.Session, "answer": json.RawMessage(step[0])}
			}
			text, failed := call(t, cs, "call_skill_tool", args)
			if failed || !strings.Contains(text, step[1]) {
				t.Fatalf("%s: %s, want %s", step[0], text, step[1])
			}
			_ = json.Unmarshal([]byte(text), &begun)
		}
	}
}
