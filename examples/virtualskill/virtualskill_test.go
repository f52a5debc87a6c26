package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/sandbox/worker"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// The test binary is also the program, and the child that runs scripts.
func TestMain(m *testing.M) {
	if worker.IsChild() || len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestTheModelSeesTheSkillAndUsesIt(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), nil, &out); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{
		"<skill><name>haiku</name><description>Writes haiku.",
		`<skill_content name="haiku" origin="virtual">`, "# Haiku about autumn", `<tool name="count_words">`, "<file>references/rules.md</file>",
		"5, 7 and 5 syllables", `"text" is missing`, `{"words":16}`,
		`<ask-user key="season" question="Which season?">`, "write: Write a haiku about autumn.", "The last one had 18 words: 14 are the most.",
		`done: {"poem":"leaves on the cold path / a broker of wind and rain / buys them","season":"autumn"}`,
	} {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("%q is not where it should be in\n%s", want, out.String())
		}
		at += i
	}
}

// A skill can be tested without a model.
func TestTheWorkflow(t *testing.T) {
	v, err := haiku()
	if err != nil {
		t.Fatal(err)
	}
	e := workflow.NewEngine(v.Workflow, &workflow.Options{
		Ask: func(_ context.Context, f workflow.Form) (workflow.FormAction, json.RawMessage, error) {
			if f.Message != "Which season?" {
				t.Errorf("the user is asked %q", f.Message)
			}
			return workflow.FormAccept, json.RawMessage(`{"season":"spring"}`), nil
		},
	})
	poem := strings.Repeat("word ", maxWords+1)
	long, _ := json.Marshal(map[string]string{"poem": poem}) // strings always marshal
	r := e.Start(t.Context(), nil)
	for range 3 { // the most
		if r.Status != workflow.StatusPrompt || r.Step != "write" {
			t.Fatalf("%+v", r)
		}
		r = e.Advance(t.Context(), r.Session, workflow.Reply{Step: r.Step, Answer: long})
	}
	var result struct{ Season, Poem string }
	if err := json.Unmarshal(r.Result, &result); err != nil || result.Season != "spring" || result.Poem != poem {
		t.Errorf("%+v: %v", r, err)
	}
}

func TestTheServer(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "claude-code", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	cs, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(path, "serve")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	call := func(tool string, args map[string]any) string {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"activate_skill", map[string]any{"name": "haiku", "arguments": "snow"}, "# Haiku about snow"},
		{"read_skill_file", map[string]any{"skill": "haiku", "path": "references/rules.md"}, "One season."},
		{"call_skill_tool", map[string]any{"skill": "haiku", "tool": "count_words", "input": map[string]any{"text": "a / b"}}, `{"words":2}`},
		{"call_skill_tool", map[string]any{"skill": "haiku", "tool": "count_words", "input": map[string]any{"text": 5}}, `"text": takes a string; got 5`},
		{"call_skill_tool", map[string]any{"skill": "haiku", "tool": workflow.ToolStart}, "<ask-user>: ask the user"},
		{"search_tools", map[string]any{"query": "count words of a poem"}, `"name":"haiku/count_words"`},
		{"execute_code", map[string]any{"code": "return await skills.call('haiku', 'count_words', { text: 'one two' })"}, `"result":{"words":2}`},
	} {
		if text := call(c.tool, c.args); !strings.Contains(text, c.want) {
			t.Errorf("%s %v answers %s, want %s in it", c.tool, c.args, text, c.want)
		}
	}
}
