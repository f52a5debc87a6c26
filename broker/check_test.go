package broker_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// addIssueTools makes a server whose tools have what schemas of real ones have.
func addIssueTools(s *mcp.Server) {
	for name, schema := range map[string]string{
		"list_issues": `{"type":"object","properties":{"owner":{"type":"string"},"repo":{"type":"string"},"state":{"type":"string","enum":["OPEN","CLOSED"]},
			"perPage":{"type":"number","minimum":1,"maximum":100},"labels":{"type":"array","items":{"type":"string"}}},"required":["owner","repo"]}`,
		"create_issue": `{"type":"object","properties":{"title":{"type":"string","minLength":1},"body":{"type":"string"}},"required":["title"],"additionalProperties":false}`,
		"set_fields":   `{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":true}`,
	} {
		s.AddTool(&mcp.Tool{Name: name, Description: "Does what its name says.", InputSchema: json.RawMessage(schema)},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
			})
	}
}

// mistakes are what models write; each is wrong behind a call that is right,
// which must not be made.
var mistakes = []struct {
	name, code string
	says       []string
}{
	{"a misspelt import", `import { listIssue, createIssue } from './servers/github'; await createIssue({ title: 'x' }); await listIssue({ owner: 'o', repo: 'r' })`,
		[]string{"agent.ts:1:10", "listIssue", "did you mean listIssues"}},
	{"a misspelt member", `await github.createIssue({ title: 'x' }); await github.lstIssues({ owner: 'o', repo: 'r' })`,
		[]string{"agent.ts:1:56", "lstIssues", "did you mean listIssues"}},
	{"a missing argument", "await github.createIssue({ title: 'x' });\nawait github.listIssues({ owner: 'o' })",
		[]string{"agent.ts:2:25", `"repo"`, "await github.listIssues({ owner: 'o' })", "github.listIssues(input: { owner: string; repo: string"}},
	{"an unknown value", `await github.createIssue({ title: 'x' }); await github.listIssues({ owner: 'o', repo: 'r', state: 'open' })`,
		[]string{"agent.ts:1:", `"OPEN"`, "did you mean"}},
	{"an unknown argument", `await github.createIssue({ title: 'x' }); await github.listIssues({ owner: 'o', repo: 'r', per_page: 5 })`,
		[]string{"agent.ts:1:", `"per_page"`, `did you mean "perPage"?`}},
	{"a value of the wrong type", `await github.createIssue({ title: 'x' }); await github.listIssues({ owner: 'o', repo: 'r', perPage: '5' })`,
		[]string{"agent.ts:1:", `"perPage" takes a number; got "5"`}},
	{"a misspelt server", `import { listIssues } from './servers/gihub'; import { createIssue } from './servers/github'; await createIssue({ title: 'x' })`,
		[]string{"agent.ts:1:28", "./servers/gihub", "did you mean ./servers/github?"}},
	{"a module of Node", `import fs from 'node:fs'; await github.createIssue({ title: 'x' }); fs.readFileSync('/etc/passwd')`,
		[]string{"agent.ts:1:16", "node:fs"}},
	{"a missing import", `await github.createIssue({ title: 'x' }); await listIssues({ owner: 'o', repo: 'r' })`,
		[]string{"agent.ts:1:49: listIssues is not defined", "import { listIssues } from './servers/github'"}},
	{"a misspelt name", `await github.createIssue({ title: 'x' }); await creatIssue({ title: 'x' })`,
		[]string{"creatIssue is not defined", "did you mean createIssue?", "import { createIssue } from './servers/github'"}},
	{"a misspelt namespace", `await github.createIssue({ title: 'x' }); await gihub.listIssues({ owner: 'o', repo: 'r' })`,
		[]string{"gihub is not defined", "did you mean github?"}},
	{"a raw call", `await callMCPTool('github__create_issue', { title: 'x' }); await callMCPTool('github__create_issue', { titel: 'x' })`,
		[]string{"agent.ts:1:104", `unknown parameter "titel", did you mean "title"?`}},
	{"syntax", "await github.createIssue({ title: 'x' });\nconst a = [1, 2;", []string{"agent.ts:2:16"}},
}

func TestMistakesAreRefusedBeforeAnythingRuns(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "github")}})
	b.Refresh(t.Context())
	cs := connect(t, b, "2025-11-25", nil)
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) { refusedThroughMCP(t, cs, m.code, m.says) })
	}
}

// refusedThroughMCP wants code 2, what the answer says, and no call.
func refusedThroughMCP(t *testing.T, cs *mcp.ClientSession, code string, says []string) {
	t.Helper()
	text, isError := call(t, cs, "execute_code", map[string]any{"code": code})
	var a broker.ExecuteAnswer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if a.ExitCode != sandbox.ExitRefused || !isError || len(a.ToolsCalled) != 0 {
		t.Errorf("exit code %d, isError %v, tools called %+v; want it refused before any call", a.ExitCode, isError, a.ToolsCalled)
	}
	for _, want := range append(says, "0 tools called") {
		if !strings.Contains(a.Stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, a.Stderr)
		}
	}
	if first, _, _ := strings.Cut(a.Stderr, "\n"); strings.Count(a.Stderr, first) != 1 {
		t.Errorf("told more than once:\n%s", a.Stderr)
	}
}

func TestWhatIsNotCertainRuns(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "github")}})
	b.Refresh(t.Context())
	for _, c := range []struct {
		name, code string
		exit       int
		calls      int
	}{
		{"right calls", `import { listIssues as l } from './servers/github'; await l({ owner: 'o', repo: 'r', state: 'OPEN', labels: ['a'] }); await github.setFields({ id: '1', anything: 2 })`, 0, 2},
		{"keys that come from elsewhere", `const a = { owner: 'o', repo: 'r' }; await github.listIssues({ ...a, perPage: 3 })`, 0, 1},
		{"values that come from elsewhere", `for (const state of ['OPEN'] as const) await github.listIssues({ owner: 'o', repo: 'r', state })`, 0, 1},
		{"a function of the same name", `const github = { listIssues: async (o: any) => o }; return await github.listIssues({ nothing: 1 })`, 0, 0},
		{"a wrong value that only shows when it runs", `const state = 'open'; await github.listIssues({ owner: 'o', repo: 'r', state })`, 1, 1},
		{"a tool that is not known yet", `try { await callMCPTool('github__list_isues', {}) } catch (e) { console.log(e.message) }`, 0, 1},
		{"a name that is asked for first", `if (typeof listIssues === 'function') await listIssues({}); return 1`, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := execute(t, b, c.code)
			calls := 0
			for _, r := range a.ToolsCalled {
				calls += max(r.N, 1)
			}
			if a.ExitCode != c.exit || calls != c.calls {
				t.Errorf("exit code %d after %d calls, want %d after %d\n%s", a.ExitCode, calls, c.exit, c.calls, a.Stderr)
			}
		})
	}
}

// A name that is only used, not called, may well be there when it is needed:
// the program runs, and the error says which import is missing.
func TestReferenceErrorSaysWhichImportIsMissing(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "github")}})
	b.Refresh(t.Context())
	a := execute(t, b, `return await Promise.all([{ title: 'x' }].map(createIssue))`)
	for _, want := range []string{"createIssue is not defined", "import { createIssue } from './servers/github'"} {
		if a.ExitCode != sandbox.ExitThrew || !strings.Contains(a.Stderr, want) {
			t.Errorf("exit code %d, stderr lacks %q:\n%s", a.ExitCode, want, a.Stderr)
		}
	}
}

func TestForgottenAwaitIsNoticed(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "github")}})
	b.Refresh(t.Context())
	a := execute(t, b, `github.createIssue({ title: 'x' }); return 1`)
	if a.ExitCode != 0 || len(a.ToolsCalled) != 1 || !strings.Contains(a.Stderr, "call to github__create_issue was still running when the script ended") {
		t.Errorf("answer %+v, want the call made and a note that it was not awaited", a)
	}
}
