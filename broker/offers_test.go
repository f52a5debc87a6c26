package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// addLibrary adds a tool, a prompt, two resources and a template; with
// LIBRARY_READS, also a tool that is called as what reads them, with LIBRARY_PAGES
// so many resources more.
func addLibrary(s *mcp.Server) {
	s.AddTool(&mcp.Tool{Name: "lend", Description: "Lend a book.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	if os.Getenv("LIBRARY_READS") != "" {
		s.AddTool(&mcp.Tool{Name: "read_resource", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "by the tool"}}}, nil
			})
	}
	pages, _ := strconv.Atoi(os.Getenv("LIBRARY_PAGES")) // none unless asked for
	for i := range pages {
		s.AddResource(&mcp.Resource{URI: fmt.Sprint("library://page/", i), Name: fmt.Sprint("page ", i), Description: "A page of a book."}, nil)
	}
	wordy := &mcp.Prompt{Name: "compare", Description: "Compare long described things."}
	for _, name := range []string{"a", "b", "c", "d"} {
		wordy.Arguments = append(wordy.Arguments, &mcp.PromptArgument{Name: name, Description: strings.Repeat("one of the things ", 10), Required: true})
	}
	s.AddPrompt(wordy, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "summarize", Description: "Sum a chapter up.", Arguments: []*mcp.PromptArgument{{Name: "chapter", Description: "its number", Required: true}, {Name: "style"}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Sum up chapter " + req.Params.Arguments["chapter"]}}}}, nil
		})
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		c := &mcp.ResourceContents{URI: req.Params.URI, Text: "text of " + req.Params.URI}
		if strings.HasSuffix(c.URI, "catalogue") {
			c.Text = `{"books":["Emma"]}`
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "library://catalogue", Name: "catalogue", Description: "The inventory of all volumes.", MIMEType: "application/json"}, read)
	s.AddResource(&mcp.Resource{URI: "library://rules", Name: "rules", Description: "Opening hours and fines."}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "library://shelf/{n}", Name: "shelf", Description: "One shelf, by its number."}, read)
}

// hitOf is the first hit of a search, which has to be of that kind.
func hitOf(t *testing.T, b *broker.Broker, kind, query string) broker.SearchHit {
	t.Helper()
	found, err := b.Search(t.Context(), broker.SearchRequest{Query: query})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Tools) == 0 || found.Tools[0].Kind != kind || found.Tools[0].Server != "library" {
		t.Fatalf("Search(%q) = %+v, want a %s of library first", query, found, kind)
	}
	return found.Tools[0]
}

func TestPromptsAndResourcesAreFoundAndOfUse(t *testing.T) {
	log, err := sqlite.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	b := newBroker(t, broker.Deps{Audit: log}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "library"), upstreamConfig(t, "notes")}})
	b.Refresh(t.Context())
	cs := connect(t, b, "2025-11-25", nil)
	for _, tt := range []struct{ kind, query, name, description, use, result string }{
		{"resource", "opening hours fines", "rules", "Opening hours and fines.", `callMCPTool('library__read_resource', {"uri":"library://rules"})`, `"text of library://rules"`},
		{"resource", "inventory volumes", "catalogue", "The inventory of all volumes.", `callMCPTool('library__read_resource', {"uri":"library://catalogue"})`, `{"books":["Emma"]}`},
		{"prompt", "sum chapter up", "summarize", "Sum a chapter up.", `callMCPTool('library__get_prompt', {"arguments":{"chapter":"<its number>"},"name":"summarize"})`,
			`{"messages":[{"content":{"type":"text","text":"Sum up chapter <its number>"},"role":"user"}]}`},
	} {
		h := hitOf(t, b, tt.kind, tt.query)
		if h.Name != tt.name || h.Description != tt.description || h.Use != tt.use {
			t.Errorf("%s: %+v", tt.query, h)
		}
		text, _ := call(t, cs, "execute_code", map[string]any{"code": "return await " + h.Use})
		if !strings.Contains(text, `"exit_code":0,"result":`+tt.result) || !strings.Contains(text, `"tool":"library__`) {
			t.Errorf("%s answers %s", h.Use, text)
		}
	}
	if h := hitOf(t, b, "prompt", "compare long described things"); !json.Valid([]byte(strings.TrimSuffix(strings.TrimPrefix(h.Use, "callMCPTool('library__get_prompt', "), ")"))) {
		t.Errorf("the call of a prompt with long descriptions is cut: %s", h.Use)
	}
	elsewhere, err := b.Search(t.Context(), broker.SearchRequest{Query: "inventory volumes", Server: "notes"})
	if err != nil || len(elsewhere.Tools) != 0 || !slices.Contains(elsewhere.Suggestions, "catalogue") {
		t.Errorf("searched for where it is not: %+v, %v", elsewhere, err)
	}
	if h := hitOf(t, b, "resource", "one shelf by number"); !strings.HasPrefix(h.Description, "Fill in the URI.") || !strings.Contains(h.Use, "library://shelf/{n}") {
		t.Errorf("template: %+v", h)
	}
	recorded := make(map[string]int)
	err = log.Export(t.Context(), func(_ state.Execution, calls []state.Call) error {
		for _, c := range calls {
			recorded[c.Server+" "+c.Tool+" "+c.ID+" "+c.Status]++
		}
		return nil
	})
	if err != nil || recorded["library resources/read library__read_resource ok"] != 2 || recorded["library prompts/get library__get_prompt ok"] != 1 {
		t.Errorf("recorded %v, %v", recorded, err)
	}
}

func TestPromptsAndResourcesAreNoTools(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{ReadOnly: true, Servers: []upstream.Config{upstreamConfig(t, "library")}})
	b.Refresh(t.Context())
	if got := b.ListServers("library"); got.TotalTools != 0 {
		t.Errorf("%+v, want no tool: lend may write", got)
	}
	hitOf(t, b, "resource", "opening hours") // reading is no writing
	cs := connect(t, b, "2025-11-25", nil)
	text, _ := call(t, cs, "execute_code", map[string]any{"code": `
		const d = await tools.describe('library.readResource');
		const errors = [];
		for (const f of [() => callMCPTool('library__read_resource', {url: 1}), () => callMCPTool('library__lend', {}), () => callMCPTool('library__get_promt', {})]) {
			try { await f(); } catch (e) { errors.push(e.code); }
		}
		return [d.signature, d.read_only, errors];`})
	const want = `"result":["callMCPTool('library__read_resource', input: { uri: string }): Promise<any> // text (parsed if JSON) or [{type,text|mimeType,size,ref}]",true,["invalid_arguments","denied","unknown_tool"]]`
	if !strings.Contains(text, want) {
		t.Errorf("%s\nwant %s", text, want)
	}
}

func TestClientsThatCallToolsReadResources(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Mode: broker.ModeTools, Servers: []upstream.Config{upstreamConfig(t, "library")}})
	b.Refresh(t.Context())
	h := hitOf(t, b, "resource", "opening hours")
	const want = `call_tool {"arguments":{"uri":"library://rules"},"tool":"library__read_resource"}`
	if h.Use != want {
		t.Errorf("use %s, want %s", h.Use, want)
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(strings.TrimPrefix(h.Use, "call_tool ")), &args); err != nil {
		t.Fatal(err)
	}
	text, isError := call(t, connect(t, b, "2025-11-25", nil), "call_tool", args)
	if isError || !strings.Contains(text, "text of library://rules") {
		t.Errorf("call_tool answers %s", text)
	}
}

// Many resources do not hide the tools that are found with them.
func TestToolsAreNotBehindAllResources(t *testing.T) {
	cfg := upstreamConfig(t, "library")
	cfg.Env = map[string]string{"LIBRARY_PAGES": "300"}
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{cfg}})
	b.Refresh(t.Context())
	found, err := b.Search(t.Context(), broker.SearchRequest{Query: "page of a book"})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(found.Tools, func(h broker.SearchHit) bool { return h.Name == "library__lend" })
	if at < 0 || at > 3 || len(found.Tools) != 8 || found.MatchCount < 301 {
		t.Errorf("the tool is at %d of %d, %d match: %+v", at, len(found.Tools), found.MatchCount, found.Tools)
	}
}

// A server's own tool of that name is that tool, and its resources are no hits:
// nothing would read them.
func TestOwnToolOfThatNameWins(t *testing.T) {
	cfg := upstreamConfig(t, "library")
	cfg.Env = map[string]string{"LIBRARY_READS": "1"}
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{cfg}})
	b.Refresh(t.Context())
	found, err := b.Search(t.Context(), broker.SearchRequest{Query: "opening hours fines rules"})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(found.Tools, func(h broker.SearchHit) bool { return h.Kind == "resource" }) {
		t.Errorf("hits %+v", found.Tools)
	}
	text, _ := call(t, connect(t, b, "2025-11-25", nil), "execute_code", map[string]any{"code": "return await callMCPTool('library__read_resource', {})"})
	if !strings.Contains(text, "by the tool") {
		t.Errorf("answers %s", text)
	}
}
