package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// The result of a script is printed as it is: a text without quotes, and else JSON.
func TestResultsArePrinted(t *testing.T) {
	for result, want := range map[string]string{
		`null`: "null\n", `"a\"b"`: "a\"b\n", `""`: "\n", `"null"`: "null\n", `7`: "7\n", `[null,"x"]`: "[null,\"x\"]\n", ``: "",
	} {
		var b strings.Builder
		a := &env{IO: cli.IO{Out: &b, Err: &b}}
		if err := printAnswer(a, broker.ExecuteAnswer{Result: json.RawMessage(result)}); err != nil || b.String() != want {
			t.Errorf("%s is printed as %q, %v, want %q", result, b.String(), err, want)
		}
	}
}

// Hits say in a terminal what to type, and not which tool a model calls.
func TestHitsNameCommands(t *testing.T) {
	for _, tt := range []struct {
		hit  broker.SearchHit
		want string
	}{
		{broker.SearchHit{Kind: broker.KindSkill, Name: "triage", Use: `activate_skill {"name":"triage"}`}, "broker skills show triage"},
		{broker.SearchHit{Kind: broker.KindSkillTool, Name: "triage/start", Use: `call_skill_tool {"skill":"triage","tool":"start"}`}, "broker skills call triage start"},
		{broker.SearchHit{Kind: broker.KindScript, Name: "report", Use: "await it in execute_code"}, "broker run report"},
		{broker.SearchHit{Name: "a__b", Signature: "({/*+5: detail full*/})"}, "({/*+5: --detail full*/})"},
	} {
		var b strings.Builder
		printHits(&b, broker.SearchAnswer{Tools: []broker.SearchHit{tt.hit}, Note: "no tools are known yet; list_servers says how the servers are"})
		if got := b.String(); !strings.Contains(got, tt.want) || strings.Contains(got, "activate_skill") || strings.Contains(got, "call_skill_tool") || strings.Contains(got, "execute_code") ||
			strings.Contains(got, ": detail") || !strings.Contains(got, "broker servers list says how") {
			t.Errorf("%+v is printed as\n%s", tt.hit, got)
		}
	}
}

func TestCallOfADeclaration(t *testing.T) {
	for declaration, want := range map[string]string{
		"files.readTextFile(input: { path: string }): Promise<{ content: string }>":                          "files.readTextFile({…})",
		"memory.readGraph(): Promise<any> // text":                                                           "memory.readGraph()",
		"mail.list(input?: { max?: number }): Promise<any>":                                                  "mail.list({…})",
		"type Node = { next: Node };\n/** Walk (a tree.with) nodes. */\ntree.walk(input: {\n  at: Node;\n})": "tree.walk({…})",
		"callMCPTool('docs__read_resource', { uri: string })":                                                "",
		"": "",
	} {
		if got := callOf(declaration); got != want {
			t.Errorf("%q: %q, want %q", declaration, got, want)
		}
	}
}
