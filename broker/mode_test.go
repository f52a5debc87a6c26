package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

func listed(t testing.TB, cs *mcp.ClientSession) map[string]*mcp.Tool {
	t.Helper()
	res, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tools := make(map[string]*mcp.Tool)
	for _, tool := range res.Tools {
		tools[tool.Name] = tool
	}
	return tools
}

func keys[T any](m map[string]T) string {
	var names []string
	for _, k := range []string{"call_tool", "execute_code", "list_servers", "search_tools"} {
		if _, ok := m[k]; ok {
			names = append(names, k)
		}
	}
	return fmt.Sprint(strings.Join(names, " "), " and ", len(m)-len(names))
}

// A client that writes no code finds tools with their ids and arguments, and
// calls them one by one.
func TestToolsMode(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Mode: broker.ModeTools})
	b.Refresh(t.Context())
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		cs := connect(t, b, version, nil)
		if got := keys(listed(t, cs)); got != "call_tool list_servers search_tools and 0" {
			t.Errorf("%s: tools are %s", version, got)
		}
		if r := cs.InitializeResult(); r != nil && r.Capabilities.Resources != nil {
			t.Errorf("%s: resources are offered to a client that writes no code", version)
		}
		text, _ := call(t, cs, "search_tools", map[string]any{"query": "read file", "limit": 1})
		if !strings.Contains(text, `"parameters":{"type":"object"`) || strings.Contains(text, "declaration") || strings.Contains(text, "signature") {
			t.Errorf("%s: one hit without its JSON Schema, or with more than that:\n%s", version, text)
		}
		text, _ = call(t, cs, "search_tools", map[string]any{"query": "file"})
		if !strings.Contains(text, `"name":"files__read_file","signature":"({path})"`) {
			t.Errorf("%s: hits without arguments:\n%s", version, text)
		}
		text, isError := call(t, cs, "call_tool", map[string]any{"tool": "files__read_file", "arguments": map[string]any{"path": "a"}})
		if isError || text != "text of a" {
			t.Errorf("%s: error %v, %q", version, isError, text)
		}
	}
}

func TestCallToolTakesWhatModelsSend(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{
		Mode: broker.ModeTools,
		Servers: []upstream.Config{upstreamConfig(t, "files"),
			listing(t, "odd", listedTool{Name: "run", InputSchema: json.RawMessage(`{"type":"object","properties":{"args":{"type":"object"}}}`)})},
	})
	b.Refresh(t.Context())
	cs := connect(t, b, "2025-11-25", nil)
	path := map[string]any{"path": "a"}
	for _, args := range []any{
		map[string]any{"tool": "files__read_file", "arguments": path},
		map[string]any{"tool": "files.read_file", "arguments": `{"path": "a"}`},
		map[string]any{"name": " files/readFile ", "args": path},
		map[string]any{"server": "files", "tool": "read_file", "arguments": path},
		map[string]any{"tool": "files__read_file", "path": "a"},
		map[string]any{"tool": "files__read_file", "arguments": map[string]any{"arguments": path}},
		map[string]any{"tool": "files__read_file", "arguments": map[string]any{"input": `{"path": "a"}`}},
		map[string]any{"arguments": map[string]any{"tool": "files__read_file", "arguments": path}},
		map[string]any{"arguments": `{"tool": "files__read_file", "arguments": "{\"path\": \"a\"}"}`},
	} {
		if text, isError := call(t, cs, "call_tool", args); isError || text != "text of a" {
			t.Errorf("%v: error %v, %q", args, isError, text)
		}
	}
	// A tool that has such a parameter itself gets it.
	text, _ := call(t, cs, "call_tool", map[string]any{"tool": "odd__run", "arguments": map[string]any{"args": path}})
	if text != `run {"args":{"path":"a"}}` {
		t.Errorf("a parameter called args: %q", text)
	}
}

func TestCallToolFailsInWords(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{
		Mode:     broker.ModeTools,
		ReadOnly: true,
		Servers:  []upstream.Config{upstreamConfig(t, "files"), {Name: "dead", Command: "/no/such/program"}},
	})
	b.Refresh(t.Context())
	cs := connect(t, b, "2026-07-28", nil)
	for _, c := range []struct {
		args any
		want string
	}{
		{map[string]any{"tool": "files__red_file"}, `unknown tool "files__red_file"; did you mean files__read_file?`},
		{map[string]any{"tool": "files__read_file", "arguments": map[string]any{}}, "path"},
		{map[string]any{"tool": "files__read_file", "arguments": "path=a"}, "object"},
		{map[string]any{"tool": "files__read_file", "arguments": map[string]any{"path": "missing"}}, "no such file: missing"},
		{map[string]any{"tool": "files__delete_file", "arguments": map[string]any{"path": "a"}}, "files__delete_file is not marked read-only"},
		{map[string]any{"tool": "dead__anything"}, "server dead is not available"},
		{map[string]any{}, "which tool?"},
		{map[string]any{"tool": ""}, "which tool?"},
		{nil, "which tool?"},
	} {
		if text, isError := call(t, cs, "call_tool", c.args); !isError || !strings.Contains(text, c.want) {
			t.Errorf("%v: error %v, %q; want %q in it", c.args, isError, text, c.want)
		}
	}
}

// What a tool sends reaches the client as it is, within the budget.
func TestCalledToolsSendMedia(t *testing.T) {
	t.Parallel()
	b := newBroker(t, broker.Deps{}, broker.Settings{Mode: broker.ModeTools, Servers: []upstream.Config{upstreamConfig(t, "media")}})
	b.Refresh(t.Context())
	cs := connect(t, b, "2025-11-25", nil)
	content := func(tool string) []mcp.Content {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"tool": "media__" + tool}})
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %+v", tool, err, res)
		}
		return res.Content
	}
	for tool, want := range map[string][]mcp.Content{
		"picture": {&mcp.TextContent{Text: "a picture\nof a house"}, &mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}},
		"sound":   {&mcp.AudioContent{Data: []byte("wav"), MIMEType: "audio/wav"}},
		"page":    {&mcp.TextContent{Text: "what it says"}},
		"nothing": {&mcp.TextContent{Text: "[]"}},
		"chart":   {&mcp.TextContent{Text: `{"points": 3}`}, &mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}},
		"summary": {&mcp.TextContent{Text: "{\"rows\":2}\n2 rows of 900"}},
		"empty":   {&mcp.TextContent{Text: "all is in the text"}},
	} {
		if diff := cmp.Diff(want, content(tool)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tool, diff)
		}
	}
	if album := content("album"); len(album) != 9 || strings.Count(album[0].(*mcp.TextContent).Text, "image of 3 bytes left out") != 2 {
		t.Errorf("ten images became %d blocks, the first %+v; want a note and eight images", len(album), album[0])
	}
	if poster := content("poster"); len(poster) != 1 || !strings.Contains(poster[0].(*mcp.TextContent).Text, "image of 5242881 bytes left out") {
		t.Errorf("a large image became %d blocks, want a note alone", len(poster))
	}
	text := content("book")[0].(*mcp.TextContent).Text
	if n := len(text); n > 10_400 || !regexp.MustCompile(`\[truncated: [89]\d,\d{3} of 100,000 characters`).MatchString(text) || !strings.Contains(text, "ask for less") || !strings.Contains(text, "(config: maxOutputChars)") {
		t.Errorf("a long text has %d bytes, and ends …%s", n, text[max(0, n-200):])
	}
}

// Content beside structured content reaches scripts and their answers.
func TestScriptsGetWhatIsBesideStructuredContent(t *testing.T) {
	kept := files.Open(t.TempDir(), nil)
	b := newBroker(t, broker.Deps{Results: kept, Values: kept}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "media")}})
	b.Refresh(t.Context())
	cs := connect(t, b, "2025-11-25", nil)
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{
		"code": `const [c, s, e] = await Promise.all([media.chart(), media.summary(), media.empty()]); return { c, s, e }`}})
	if err != nil || res.IsError || len(res.Content) != 2 {
		t.Fatalf("%v %+v", err, res)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	for _, want := range []string{`"c":{"points":3,"content":[{"type":"image","mimeType":"image/png","size":3,"ref":"r_`, `"s":{"rows":2,"content":[{"type":"text","text":"2 rows of 900"}]}`, `"e":"all is in the text"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if i, ok := res.Content[1].(*mcp.ImageContent); !ok || string(i.Data) != "png" {
		t.Errorf("the second block is %+v, want the image", res.Content[1])
	}
}

// A call without a script is recorded like one in a script.
func TestCalledToolsAreRecorded(t *testing.T) {
	log, err := sqlite.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	b := newBroker(t, broker.Deps{Audit: log}, broker.Settings{Mode: broker.ModeTools})
	b.Refresh(t.Context())
	cs := connect(t, b, "2025-11-25", nil)
	call(t, cs, "call_tool", map[string]any{"tool": "files.read_file", "arguments": map[string]any{"path": "a"}})
	call(t, cs, "call_tool", map[string]any{"tool": "files.read_file", "arguments": map[string]any{"path": "missing"}})
	got := make(map[string]string)
	err = log.Export(t.Context(), func(e state.Execution, calls []state.Call) error {
		for _, c := range calls {
			got[e.Status] += fmt.Sprintf("%s %s: %s %s %s", e.Client, e.Language, c.ID, c.Status, c.Error)
		}
		return nil
	})
	want := map[string]string{
		state.StatusDone:   "test call: files__read_file ok ",
		state.StatusFailed: "test call: files__read_file error no such file: missing",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// While they are few, upstream tools are listed themselves; when a server makes
// them many, clients are told that the list changed.
func TestAutoMode(t *testing.T) {
	few := []upstream.Config{upstreamConfig(t, "files"), listing(t, "odd",
		listedTool{Name: "any", Description: "Anything.", InputSchema: stringParams()},
		listedTool{Name: "with.dots", InputSchema: stringParams()})}
	b := newBroker(t, broker.Deps{}, broker.Settings{Mode: broker.ModeAuto, AutoThreshold: 6, Servers: few})
	b.Refresh(t.Context())
	changed := make(chan struct{}, 16)
	cs := connect(t, b, "2025-11-25", &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
		changed <- struct{}{}
	}})
	tools := listed(t, cs)
	read := tools["files__read_file"]
	if read == nil || !read.Annotations.ReadOnlyHint || tools["files__delete_file"].Annotations.ReadOnlyHint || read.OutputSchema != nil {
		t.Fatalf("listed are %s, read_file %+v", keys(tools), read)
	}
	if got := keys(tools); got != "execute_code list_servers search_tools and 5" || tools["odd__with.dots"] != nil {
		t.Errorf("listed are %s, want the broker's own and those whose names every client takes", got)
	}
	text, isError := call(t, cs, "files__read_file", map[string]any{"path": "a"})
	if isError || text != "text of a" {
		t.Errorf("called directly: error %v, %q", isError, text)
	}
	text, isError = call(t, cs, "files__read_file", map[string]any{})
	if !isError || !strings.Contains(text, "path") {
		t.Errorf("wrong arguments: error %v, %q", isError, text)
	}
	b.Apply(broker.Settings{Mode: broker.ModeAuto, AutoThreshold: 6, Servers: append(few, upstreamConfig(t, "notes"))})
	b.Refresh(t.Context())
	eventually(t, "the list is that of mode code", func() bool { return keys(listed(t, cs)) == "execute_code list_servers search_tools and 0" })
	<-changed
	b.Apply(broker.Settings{Mode: broker.ModeAuto, AutoThreshold: 6, Servers: few[:1]})
	eventually(t, "the tools are listed again", func() bool { return keys(listed(t, cs)) == "execute_code list_servers search_tools and 4" })
}
