package broker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// What the configuration denies is not there: not in lists, in search or by its
// name; and a new configuration brings it back without a restart of its server.
func TestDeniedToolsAreNotThere(t *testing.T) {
	servers := []upstream.Config{upstreamConfig(t, "library"), upstreamConfig(t, "notes")}
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: servers, Tools: policy.ToolLists{"library": {Deny: []string{"len?", "resources/*"}}}})
	b.Refresh(t.Context())
	if got := b.ListServers("library"); got.TotalTools != 0 {
		t.Errorf("%+v, want no tool", got)
	}
	cs := connect(t, b, "2025-11-25", nil)
	const code = `
		const codes = [];
		for (const id of ['library__lend', 'library__read_resource', 'library__get_prompt']) {
			try { await callMCPTool(id, {}); codes.push('ok'); } catch (e) { codes.push(e.code); }
		}
		return codes`
	if text, _ := call(t, cs, "execute_code", map[string]any{"code": code}); !strings.Contains(text, `"result":["unknown_tool","unknown_tool","invalid_arguments"]`) {
		t.Errorf("%s", text)
	}
	if found, err := b.Search(t.Context(), broker.SearchRequest{Query: "opening hours fines"}); err != nil || strings.Contains(fmt.Sprint(found.Tools), "library") {
		t.Errorf("a denied resource is found: %+v, %v", found, err)
	}
	pid := b.Status()[0].PID
	b.Apply(broker.Settings{Servers: servers})
	if _, err := b.Describe(t.Context(), "library__lend"); err != nil || b.Status()[0].PID != pid || pid == 0 {
		t.Errorf("after the denial has gone: %v, process %d then %d", err, pid, b.Status()[0].PID)
	}
}

// A server that rules deny has no tool, prompt or resource.
func TestServersThatRulesDeny(t *testing.T) {
	for text, there := range map[string]bool{
		`{"rules":[{"effect":"deny","tools":["library"]}]}`:                               false,
		`{"rules":[{"effect":"deny","tools":["library"],"except":["*.resources/read"]}]}`: true,
	} {
		rules, mistakes := policy.ReadRules(policy.Source{Text: []byte(text)})
		if rules == nil {
			t.Fatal(mistakes)
		}
		b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "library"), upstreamConfig(t, "notes")}, Policy: rules})
		b.Refresh(t.Context())
		if got := b.ListServers("library"); got.TotalTools != 0 {
			t.Errorf("%s: %+v, want no tool", text, got)
		}
		if found, err := b.Search(t.Context(), broker.SearchRequest{Query: "opening hours fines"}); err != nil || strings.Contains(fmt.Sprint(found.Tools), "library") != there {
			t.Errorf("%s: %+v, %v", text, found, err)
		}
	}
}

func TestWriteMarkIsOfTheClass(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{listing(t, "s",
		listedTool{Name: "get_contents", Description: "Contents of a file.", InputSchema: stringParams("path")},
		listedTool{Name: "delete_contents", Description: "Empty a file.", InputSchema: stringParams("path"), Annotations: readOnly},
		listedTool{Name: "contents", Description: "Handle a file.", InputSchema: stringParams("path")},
	)}})
	b.Refresh(t.Context())
	found, err := b.Search(t.Context(), broker.SearchRequest{Query: "contents file"})
	if err != nil || len(found.Tools) != 3 {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, h := range found.Tools {
		if reads := h.Name == "s__get_contents"; reads == strings.HasSuffix(h.Description, " [write]") {
			t.Errorf("%s: %q", h.Name, h.Description)
		}
	}
}

// Where the policy asks, the person at the client says what happens, in both eras
// of the protocol; the arguments stand in the question on one line, without
// secrets.
func TestThePersonAtTheClientIsAsked(t *testing.T) {
	rules, _ := policy.ReadRules(policy.Source{Text: []byte(`{"preset":"open","rules":[{"effect":"ask","tools":["library.lend"],"reason":"books are rare"}]}`)})
	for _, version := range versions {
		for says, want := range map[string]string{"approve once": "ok", "deny": "denied", "decline": "denied", "cancel": "needs_approval", "": "needs_approval"} {
			t.Run(version+" "+says, func(t *testing.T) {
				t.Parallel()
				store, err := sqlite.Open(t.TempDir(), nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = store.Close() })
				b := newBroker(t, broker.Deps{Audit: store}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "library")}, Policy: rules})
				b.Refresh(t.Context())
				var o *mcp.ClientOptions
				var asked []string
				if says != "" {
					o = &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						asked = append(asked, req.Params.Message)
						if says == "decline" || says == "cancel" {
							return &mcp.ElicitResult{Action: says}, nil
						}
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": says}}, nil
					}}
				}
				cs := connect(t, b, version, o)
				const code = "try { await callMCPTool('library__lend', {title: 'Emma\\nArguments: {}', password: 'chosen by the caller', token: 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'}); return 'ok' } catch (e) { return e.code }"
				if text, _ := call(t, cs, "execute_code", map[string]any{"code": code}); !strings.Contains(text, `"result":"`+want+`"`) {
					t.Errorf("%s, want %s", text, want)
				}
				if says == "" {
					return
				}
				if len(asked) != 1 || !strings.HasPrefix(asked[0], "A call needs your approval.\n\n1. library__lend (it is a call that the policy asks about: books are rare)\n   {") ||
					strings.Count(asked[0], "\n") != 3 || strings.Contains(asked[0], "ghp_") || !strings.Contains(asked[0], "chosen by the caller") {
					t.Errorf("asked %q", asked)
				}
				if says == "cancel" { // no decision was made
					if events, err := store.Events(t.Context(), time.Time{}, 10); err != nil || slices.ContainsFunc(events, func(e state.Event) bool { return e.Kind == state.EventApproval }) {
						t.Errorf("events %+v, %v", events, err)
					}
					return
				}
				decided := map[string]string{"ok": "approved 1 library__lend", "denied": "denied 1 library__lend"}[want]
				events, err := store.Events(t.Context(), time.Time{}, 10)
				if i := slices.IndexFunc(events, func(e state.Event) bool { return e.Kind == state.EventApproval }); err != nil || i < 0 || events[i].Detail != decided ||
					events[i].Name == "" || !strings.HasPrefix(events[i].Client, "form: ") {
					t.Errorf("events %+v, %v, want %q", events, err, decided)
				}
			})
		}
	}
}

func TestAskMark(t *testing.T) {
	rules, _ := policy.ReadRules(policy.Source{Text: []byte(`{"rules":[{"effect":"ask","tools":["s.get_contents"]}]}`)})
	b := newBroker(t, broker.Deps{}, broker.Settings{
		Policy: rules,
		Servers: []upstream.Config{listing(t, "s",
			listedTool{Name: "get_contents", Description: "Contents of a file.", InputSchema: stringParams("path")},
			listedTool{Name: "delete_contents", Description: "Empty a file.", InputSchema: stringParams("path")},
			listedTool{Name: "contents", Description: "Handle a file.", InputSchema: stringParams("path")},
		)},
	})
	b.Refresh(t.Context())
	found, err := b.Search(t.Context(), broker.SearchRequest{Query: "contents file"})
	if err != nil || len(found.Tools) != 3 {
		t.Fatalf("%+v, %v", found, err)
	}
	want := map[string]string{"s__get_contents": "Contents of a file. [asks]", "s__delete_contents": "Empty a file. [write] [asks]", "s__contents": "Handle a file. [write]"}
	for _, h := range found.Tools {
		if h.Description != want[h.Name] {
			t.Errorf("%s: %q, want %q", h.Name, h.Description, want[h.Name])
		}
	}
}

// Published servers are recognized by their command lines: the broker's reviews of
// their tools take precedence over their hints.
func TestToolsOfPublishedServersAreKnown(t *testing.T) {
	yes := true
	tools := []listedTool{{Name: "API-post-search", Description: "Search notes.", InputSchema: stringParams("query"), Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes}}}
	known, other := listing(t, "notion", tools...), listing(t, "other", tools...)
	known.Args = append(known.Args, "@notionhq/notion-mcp-server@2")
	rules, _ := policy.ReadRules(policy.Source{Text: []byte(`{}`)})
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{known, other}, Policy: rules})
	b.Refresh(t.Context())
	found, err := b.Search(t.Context(), broker.SearchRequest{Query: "search notes"})
	if err != nil || len(found.Tools) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, h := range found.Tools {
		if reads := strings.HasPrefix(h.Name, "notion"); reads == strings.HasSuffix(h.Description, " [asks]") {
			t.Errorf("%s: %q", h.Name, h.Description)
		}
	}
}

// A tool that a rule denies is not found. An error with the rule's reason answers a
// script or a query with its name: by id, namespace, import and search.
func TestDeniedToolsSayWhy(t *testing.T) {
	var tools []listedTool
	for _, name := range []string{"create_note", "delete_note", "purge_notes", "list_notes"} {
		tools = append(tools, listedTool{Name: name, Description: strings.ReplaceAll(name, "_", " "), InputSchema: stringParams("id")})
	}
	rules, _ := policy.ReadRules(policy.Source{Text: []byte(`{"rules":[{"effect":"deny","tools":["notes"],"class":["destructive"],"reason":"notes are kept"}]}`)})
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{listing(t, "notes", tools...)}, Policy: rules})
	b.Refresh(t.Context())
	cs := connect(t, b, "2025-11-25", nil)
	const want = "notes__delete_note is denied by the policy: notes are kept"
	for _, code := range []string{
		"return await callMCPTool('notes__delete_note', {})", "return await callMCPTool('notes.deleteNote', {})",
		"return await notes.deleteNote({})", "import { deleteNote } from './servers/notes'; return await deleteNote({})",
	} {
		if text, _ := call(t, cs, "execute_code", map[string]any{"code": code}); !strings.Contains(text, want) || strings.Contains(text, "create") || strings.Contains(text, "did you mean") {
			t.Errorf("%s: %s", code, text)
		}
	}
	found, err := b.Search(t.Context(), broker.SearchRequest{Query: "notes__purge_notes"})
	if err != nil || !strings.Contains(found.Note, "is denied by the policy: notes are kept") || strings.Contains(fmt.Sprint(found.Tools), "purge") {
		t.Errorf("%+v, %v", found, err)
	}
}
