package broker_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

// alike are servers and tools whose joined names are alike.
var alike = []struct {
	server string
	tools  []string
}{
	{"a", []string{"b__c", "b.c", "b/c", "b:c", "off.c", "c"}},
	{"a__b", []string{"c", "c__d"}},
	{"a.b", []string{"c", "c.d"}},
	{"a__b.c", []string{"d", "__d"}},
	{"a/b", []string{"c"}},
	{"a:b", []string{"c"}},
	{"ab", []string{"c", "_c"}},
}

// alikeServers have tools that take the parameter of their server and no other, p0 for
// the first.
func alikeServers(t *testing.T) (servers []upstream.Config) {
	for i, s := range alike {
		var list []listedTool
		for _, tool := range s.tools {
			list = append(list, listedTool{Name: tool, Description: "A tool.", Annotations: readOnly,
				InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"p%d":{"type":"string"}},"required":["p%[1]d"],"additionalProperties":false}`, i))})
		}
		servers = append(servers, listing(t, s.server, list...))
	}
	return servers
}

// Server and tool are not joined in a way that makes another tool of them, in scripts and
// with call_tool, and the policy decides about the very tool that is called.
func TestServerAndToolMeanOneTool(t *testing.T) {
	for _, denied := range []string{"", "a__b", "a", "a.b"} {
		o := options{Deps: broker.Deps{Runner: inproc.New()}, Settings: broker.Settings{Mode: broker.ModeTools, Servers: alikeServers(t)}}
		if denied != "" {
			o.Policy, _ = policy.ReadRules(policy.Source{Text: []byte(`{"rules":[{"effect":"deny","tools":["` + denied + `"]}]}`)})
		}
		b := newBroker(t, o.Deps, o.Settings)
		b.Refresh(t.Context())
		cs := connect(t, b, "2025-11-25", nil)
		for i, s := range alike {
			args := map[string]any{fmt.Sprint("p", i): "y"}
			for _, tool := range s.tools {
				got := b.Execute(t.Context(), broker.ExecuteRequest{Code: fmt.Sprintf("return await callMCPTool(%q, %q, {p%d: 'y'})", s.server, tool, i)})
				text, _ := call(t, cs, "call_tool", map[string]any{"server": s.server, "tool": tool, "arguments": args})
				for road, answer := range map[string]string{"script": string(got.Result), "call_tool": text} {
					if reached := strings.HasPrefix(strings.TrimPrefix(answer, `"`), tool+" {"); reached == (s.server == denied) {
						t.Errorf("%s without %q: %s of %s: %s %s", road, denied, tool, s.server, answer, got.Stderr)
					}
				}
			}
		}
		for _, names := range [][2]string{{"a__b__c", "d"}, {"a.off", "c"}, {"a__b", "d"}, {"", "c"}, {"a", ""}, {"a", "a__c"}, {"b", "c"}} {
			got := b.Execute(t.Context(), broker.ExecuteRequest{Code: fmt.Sprintf("return await callMCPTool(%q, %q, {})", names[0], names[1])})
			if strings.Contains(got.Stderr, "required") || got.ExitCode == 0 || strings.Contains(got.Stderr, "\x1f") {
				t.Errorf("%q reaches a tool: %s", names, got.Stderr)
			}
		}
	}
}

// A name of a hidden tool leads to no other tool.
func TestNamesOfHiddenTools(t *testing.T) {
	rules, mistakes := policy.ReadRules(policy.Source{Text: []byte(`{"rules":[{"effect":"deny","tools":["a.b","a/b","a:b"]}]}`)})
	if rules == nil {
		t.Fatal(mistakes)
	}
	ruled := newBroker(t, broker.Deps{Runner: inproc.New()}, broker.Settings{Servers: alikeServers(t), Policy: rules})
	ruled.Refresh(t.Context())
	b := newBroker(t, broker.Deps{Runner: inproc.New()}, broker.Settings{
		Servers:  alikeServers(t),
		Profiles: map[string]policy.Profile{"narrow": {Name: "narrow", Servers: []string{"a", "ab"}, Allow: all}},
	})
	b.Refresh(t.Context())
	for _, v := range []*broker.Broker{ruled, b.View("narrow")} {
		for _, name := range []string{"a.b.c", "a/b/c", "a:b:c", "a.b/c", "a:b.c"} {
			if got := v.Execute(t.Context(), broker.ExecuteRequest{Code: fmt.Sprintf("return await callMCPTool(%q, {p0: 'y'})", name)}); got.ExitCode == 0 {
				t.Errorf("%s reaches a tool: %s", name, got.Result)
			}
		}
		for _, tool := range alike[0].tools {
			if got := v.Execute(t.Context(), broker.ExecuteRequest{Code: fmt.Sprintf("return await callMCPTool('a', %q, {p0: 'y'})", tool)}); got.ExitCode != 0 {
				t.Errorf("%s of a is not hidden: %s", tool, got.Stderr)
			}
		}
	}
}
