package broker_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
)

// shared are documents of a fleet, by kinds.
func shared(t *testing.T) func(kind string) state.Documents {
	dir := t.TempDir()
	return func(kind string) state.Documents { return files.OpenDocuments(filepath.Join(dir, kind)) }
}

// Each request of a conversation may go to another broker.
func TestAnyBrokerGoesOnWithSkills(t *testing.T) {
	k := newServerSkills()
	k.Hide(refunds + "/SKILL.md")
	docs, _ := skillUpstream(t, "docs", k, false)
	docsUpstream := []upstream.Config{docs, upstreamConfig(t, "files")}
	documents := shared(t)
	var clients []*mcp.ClientSession
	for range 2 {
		_, r := newSkills(t)
		b := newBroker(t, broker.Deps{Documents: documents}, broker.Settings{Skills: r, Servers: docsUpstream})
		clients = append(clients, connect(t, b, "2026-07-28", nil))
		b.Refresh(t.Context())
	}
	one, two := clients[0], clients[1]

	// A skill that its user picks, and models are not shown.
	expect(t, two, "read_skill_file", map[string]any{"skill": "deploy", "path": "list.md"}, true, "skill_not_found: ")
	if _, err := one.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "deploy"}); err != nil {
		t.Fatal(err)
	}
	expect(t, two, "read_skill_file", map[string]any{"skill": "deploy", "path": "list.md"}, false, "- one")
	expect(t, two, "execute_code", map[string]any{"code": "return await skills.read('deploy', 'list.md')"}, false, "- one")

	// A skill of a server, by its address: as it was when it was activated.
	name := "docs:" + refunds + "/SKILL.md"
	expect(t, one, "activate_skill", map[string]any{"name": name}, false, `origin="server:docs"`)
	expect(t, two, "read_skill_file", map[string]any{"skill": name, "path": "references/policy.md"}, false, "within 14 days")
	k.Add(refunds, "Handle refunds anew.", map[string]string{"references/policy.md": "Refund within 30 days.\n", "new.md": "new"})
	expect(t, two, "read_skill_file", map[string]any{"skill": name, "path": "new.md"}, true, "not_found: ")

	// A workflow.
	type result struct{ Session, Status, Prompt string }
	run := func(cs *mcp.ClientSession, tool string, input any) (res result) {
		t.Helper()
		text, isError := call(t, cs, "call_skill_tool", map[string]any{"skill": "triage", "tool": tool, "input": input})
		if err := json.Unmarshal([]byte(text), &res); err != nil || isError {
			t.Fatalf("%s: %v: %s", tool, err, text)
		}
		return res
	}
	begun := run(one, "start", map[string]any{"path": "a.txt"})
	if begun.Status != "prompt" {
		t.Fatalf("start: %+v", begun)
	}
	if done := run(two, "advance", map[string]any{"session": begun.Session, "answer": map[string]any{"level": 3}}); done.Status != "done" {
		t.Errorf("advance: %+v", done)
	}
	expect(t, one, "call_skill_tool", map[string]any{"skill": "triage", "tool": "advance", "input": map[string]any{"session": begun.Session, "answer": 1}}, true, "is over")
}
