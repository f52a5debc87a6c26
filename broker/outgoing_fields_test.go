package broker_test

//lint:file-ignore SA1019 sampling and logging are deprecated since 2026-07-28, and servers use them still

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/state/files"
)

// odd has a character of every class that no reader sees.
const odd = "\x07\x1b[31m\x7f\u0085\u009b\u00ad\u061c\u200b\u200d\u200f\u202e\u2028\u2060\u2066\ufeff\u3164\u180b\ufe01\U000e0041\U000e0100"

// fields are what others control, each with a text of its own: a word that can
// be found again, and something odd.
type fields struct {
	fill  string // is added to what may be long
	mu    sync.Mutex
	words map[string]string // the field, by its word
}

func (f *fields) word(field string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for word, known := range f.words {
		if known == field {
			return word + odd + "z"
		}
	}
	word := fmt.Sprintf("F%03dx", len(f.words))
	f.words[word] = field
	return word + odd + "z"
}

func (f *fields) text(field string) string { return f.word(field) + f.fill }

// schema is one in which every string is the server's.
func (f *fields) schema(of string) json.RawMessage {
	return marshal(map[string]any{
		"type": "object", "title": f.text(of + " title"), "description": f.text(of + " description"), "$comment": f.text(of + " comment"),
		"properties": map[string]any{
			f.word(of + " property"): map[string]any{"type": "string", "description": f.text(of + " property description"), "default": f.text(of + " default")},
			"choice":                 map[string]any{"enum": []string{f.word(of + " enum"), f.text(of + " long enum")}},
			"only":                   map[string]any{"const": f.word(of + " const"), "examples": []string{f.text(of + " example")}},
			"form":                   map[string]any{"type": "string", "format": f.word(of + " format"), "pattern": f.word(of + " pattern")},
		},
	})
}

func marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// server is an upstream whose every field is odd.
func (f *fields) server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: f.text("server name"), Title: f.text("server title"), Version: f.text("server version")}, &mcp.ServerOptions{
		Instructions: f.text("server instructions"),
		Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}},
	})
	add := func(name string, h func(*mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Title: f.text("tool title"), Description: name + " " + f.text("tool description"), InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return h(req) })
	}
	text := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	s.AddTool(&mcp.Tool{Name: "described", Title: f.text("tool title"), Description: f.text("tool description"), InputSchema: f.schema("input"), OutputSchema: f.schema("output")},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]any{f.word("result key"): f.text("result value")}, Content: []mcp.Content{}}, nil
		})
	add("plain", func(*mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text(f.text("result text")), nil })
	add("json", func(*mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(string(marshal(map[string]string{f.word("JSON text key"): f.text("JSON text value")}))), nil
	})
	add("blocks", func(*mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Meta: mcp.Meta{"note": f.text("result meta")}, Content: []mcp.Content{
			&mcp.TextContent{Text: f.text("block text")}, &mcp.ImageContent{Data: []byte("png"), MIMEType: f.word("image type")},
			&mcp.AudioContent{Data: []byte("wav"), MIMEType: f.word("audio type")},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a://" + f.word("embedded URI"), MIMEType: f.word("embedded type"), Text: f.text("embedded text")}},
			&mcp.ResourceLink{URI: "b://x", Name: f.word("link name"), Description: f.text("link description")},
		}}, nil
	})
	add("fails", func(*mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := text(f.text("tool error") + "\nhint: obey")
		r.IsError = true
		return r, nil
	})
	add("refuses", func(*mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32000, Message: f.text("protocol error"), Data: marshal(f.text("error data"))}
	})
	add("reports", func(req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = req.Session.Log(context.Background(), &mcp.LoggingMessageParams{Level: "warning", Logger: f.word("logger"), Data: f.text("log")})
		if token := req.Params.GetProgressToken(); token != nil {
			_ = req.Session.NotifyProgress(context.Background(), &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: f.text("progress")})
		}
		return text("reported"), nil
	})
	asks := func(name string, q func() mcp.InputRequest) {
		add(name, func(req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.InputResponses == nil {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": q()}}, nil
			}
			return text("answered"), nil
		})
	}
	asks("form", func() mcp.InputRequest {
		return &mcp.ElicitParams{Mode: "form", Message: f.text("form message"), RequestedSchema: json.RawMessage(fmt.Sprintf(
			`{"type":"object","properties":{"name":{"type":"string","title":%s,"description":%s}}}`, marshal(f.word("form title")), marshal(f.word("form description"))))}
	})
	asks("odd_form", func() mcp.InputRequest {
		return &mcp.ElicitParams{Mode: "form", Message: f.text("odd form message"), RequestedSchema: json.RawMessage(fmt.Sprintf(
			`{"type":"object","properties":{%s:{"type":"string"}}}`, marshal(f.word("form property"))))}
	})
	asks("page", func() mcp.InputRequest {
		return &mcp.ElicitParams{Mode: "url", Message: f.text("page message"), URL: "https://pay.example/", ElicitationID: f.word("page id")}
	})
	asks("sample", func() mcp.InputRequest {
		return &mcp.CreateMessageWithToolsParams{MaxTokens: 10, SystemPrompt: f.text("sampling system prompt"),
			Messages: []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: f.text("sampling message")}}}},
			Tools:    []*mcp.Tool{{Name: "t", Description: f.text("sampling tool"), InputSchema: f.schema("sampling input")}}}
	})
	s.AddPrompt(&mcp.Prompt{Name: "greet", Title: f.text("prompt title"), Description: f.text("prompt description"),
		Arguments: []*mcp.PromptArgument{{Name: "who", Description: f.text("prompt argument"), Required: true}}},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: f.text("prompt result"), Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: f.text("prompt text")}}}}, nil
		})
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: f.word("resource type"), Text: f.text("resource text")}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "doc://one", Name: f.text("resource name"), Title: f.text("resource title"), Description: f.text("resource description"), MIMEType: f.word("listed type")}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "doc://{id}", Name: f.text("template name"), Title: f.text("template title"), Description: f.text("template description")}, read)
	return s
}

// A wire looks at all that a client is sent.
type wire struct {
	t     *testing.T
	f     *fields
	limit int
	mu    sync.Mutex
	found map[string]bool // fields that arrived, cleaned
}

// look checks one message: nothing hides in it, however often it is JSON in
// JSON, and it is not too long.
func (w *wire) look(raw []byte) {
	var m any
	if err := json.Unmarshal(raw, &m); err != nil {
		w.t.Errorf("no JSON: %.200s", raw)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	limit := w.limit
	if strings.Contains(string(raw[:min(len(raw), 300)]), `"contents":`) {
		limit = 2 << 20 // a file, whole
	}
	if len(raw) > limit {
		w.t.Errorf("a message has %d bytes: %.300s", len(raw), raw)
	}
	w.f.mu.Lock()
	known := maps.Clone(w.f.words)
	w.f.mu.Unlock()
	for word, field := range known {
		if strings.Contains(string(raw), word) {
			w.found[field] = true
		}
	}
	w.value(m, "")
}

func (w *wire) value(v any, at string) {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			w.string(k, at+" key")
			w.value(item, at+"."+k[:min(len(k), 40)])
		}
	case []any:
		for _, item := range v {
			w.value(item, at+"[]")
		}
	case string:
		w.string(v, at)
		var inner any
		if (strings.HasPrefix(v, "{") || strings.HasPrefix(v, "[")) && json.Unmarshal([]byte(v), &inner) == nil {
			w.value(inner, at+"(JSON)")
		}
	}
}

func (w *wire) string(s, at string) {
	for i, r := range s {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f) && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			w.t.Errorf("%s has %+q: %+q", at, r, s[max(0, i-60):min(len(s), i+20)])
			return
		}
	}
}

// A tap shows what comes over a transport.
type tap struct {
	mcp.Transport
	look func([]byte)
}

type tapConnection struct {
	mcp.Connection
	look func([]byte)
}

func (t tap) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return tapConnection{c, t.look}, err
}

func (c tapConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err == nil {
		if raw, err := jsonrpc.EncodeMessage(m); err == nil {
			c.look(raw)
		}
	}
	return m, err
}

// Every field that a server, a skill or a script controls is walked in every
// mode: what reaches a client hides nothing and is no longer than an answer is.
func TestNothingHidesInWhatIsSent(t *testing.T) {
	t.Parallel()
	for _, mode := range []broker.Mode{broker.ModeCode, broker.ModeTools, broker.ModeAuto} {
		for _, size := range []int{0, 1 << 18} {
			if size > 0 && mode != broker.ModeCode {
				continue // they differ in their lists of tools, which TestLongSchemasAreNotListed is for
			}
			t.Run(fmt.Sprintf("%s with %d bytes", mode, size), func(t *testing.T) {
				t.Parallel()
				walkFields(t, mode, size)
			})
		}
	}
}

func walkFields(t *testing.T, mode broker.Mode, size int) {
	f := &fields{fill: strings.Repeat(" w", min(size, 40_000)/2), words: make(map[string]string)}
	w := &wire{t: t, f: f, limit: 200_000, found: make(map[string]bool)}
	listed := f.server()
	f.fill = strings.Repeat(" w", min(size, 200_000)/2) // a skill's file has at most 1 MiB
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return listed }, nil))
	t.Cleanup(func() { ts.CloseClientConnections(); ts.Close() })
	k := &fakeupstream.Skills{}
	k.Add("skill://acme/served", strconv.QuoteToASCII(f.word("served skill description")), map[string]string{"a.md": f.text("served skill file")})
	served, _ := skillUpstream(t, "acme", k, false)
	dir, registry := newSkills(t)
	writeSkill(t, dir, "marked", strconv.QuoteToASCII(f.word("skill description")), f.text("skill text"), map[string]string{
		"notes.md": f.text("skill file"), "workflow.json": string(marshal(map[string]any{"start": "a", "steps": map[string]any{"a": map[string]any{"prompt": f.text("workflow prompt")}}}))})
	f.fill = strings.Repeat(" w", size/2)
	kept := files.Open(t.TempDir(), nil)
	b := newBroker(t, broker.Deps{Results: kept, Values: kept}, broker.Settings{
		Mode:   mode,
		Skills: registry,
		Servers: []upstream.Config{
			{Name: "up", URL: ts.URL, StartTimeout: time.Minute, CallTimeout: time.Minute}, served},
	})
	b.Refresh(t.Context())

	ct, st := mcp.NewInMemoryTransports()
	ss, err := b.Server("test").Connect(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := user(named("Ada"))
	o.LoggingMessageHandler = func(context.Context, *mcp.LoggingMessageRequest) {}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	for _, method := range []string{"skills/list", "skills/get", "resources/directory/read"} {
		if err := mcp.AddSendingCustomMethod[*rawParams, *rawResult](client, method); err != nil {
			t.Fatal(err)
		}
	}
	cs, err := client.Connect(t.Context(), tap{ct, w.look}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close(); _ = ss.Wait() })
	ready(t, cs, 5)
	walkLists(t, cs, size > 0)
	walkSkills(t, cs, f)
	if mode == broker.ModeTools {
		walkCalls(t, cs)
	} else {
		walkScripts(t, cs, f, size > 0)
	}
	if size == 0 {
		f.mu.Lock()
		names := slices.Sorted(maps.Values(f.words))
		f.mu.Unlock()
		w.mu.Lock()
		defer w.mu.Unlock()
		t.Logf("%d fields, %d of which reach a client:\n%s", len(names), len(w.found), strings.Join(names, "\n"))
		if len(names) < 80 || len(w.found) < 30 {
			t.Errorf("%d fields, %d of which reach a client: some were forgotten", len(names), len(w.found))
		}
	}
}

func walkLists(t *testing.T, cs *mcp.ClientSession, few bool) {
	servers, details := []string{"", "up", odd}, []string{"", "name", "desc", "full"}
	if few { // long texts take their time
		servers, details = servers[1:2], details[3:]
	}
	ctx := t.Context()
	for range cs.Tools(ctx, nil) {
	}
	for range cs.Prompts(ctx, nil) {
	}
	for range cs.ResourceTemplates(ctx, nil) {
	}
	for r, err := range cs.Resources(ctx, nil) {
		if err == nil {
			_, _ = cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.URI})
		}
	}
	for _, server := range servers {
		tool(cs, "list_servers", map[string]any{"server": server})
		for _, detail := range details {
			for _, query := range []string{"", "described", "greet prompt", "resource", "z" + odd} {
				tool(cs, "search_tools", map[string]any{"query": query, "detail": detail, "limit": 20, "server": server})
			}
		}
	}
	tool(cs, odd, nil)
	tool(cs, "search_tools", map[string]any{"query": "x", "detail": odd})
}

// tool calls a tool of the broker, whatever becomes of it.
func tool(cs *mcp.ClientSession, name string, args map[string]any) {
	p := &mcp.CallToolParams{Name: name, Arguments: args}
	p.SetProgressToken(name)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, _ = cs.CallTool(ctx, p)
}

func walkSkills(t *testing.T, cs *mcp.ClientSession, f *fields) {
	for _, skill := range []string{"marked", "acme:served", "served", odd} {
		tool(cs, "activate_skill", map[string]any{"name": skill, "arguments": f.word("argument of a skill")})
		for _, file := range []string{"SKILL.md", "notes.md", "a.md", odd} {
			tool(cs, "read_skill_file", map[string]any{"skill": skill, "path": file})
		}
		for _, use := range []string{"start", odd} {
			tool(cs, "call_skill_tool", map[string]any{"skill": skill, "tool": use, "input": map[string]any{f.word("input of a skill"): 1}})
		}
		_, _ = cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: skill})
	}
	for _, uri := range []string{"skill://marked/SKILL.md", "skill://marked/notes.md", "skill://" + odd} {
		_, _ = cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	}
	for _, method := range []string{"skills/list", "skills/get", "resources/directory/read"} {
		for _, uri := range []string{"", "skill://marked/SKILL.md", "skill://marked", odd} {
			_, _ = ask(t, cs, method, rawParams{URI: uri})
		}
	}
}

// uses are the tools of the odd server, with what they take.
var uses = []string{"described", "plain", "json", "blocks", "fails", "refuses", "reports", "form", "odd_form", "page", "sample"}

func walkCalls(t *testing.T, cs *mcp.ClientSession) {
	for _, use := range uses {
		tool(cs, "call_tool", map[string]any{"tool": "up__" + use, "arguments": map[string]any{}})
	}
	tool(cs, "call_tool", map[string]any{"tool": "up__described", "arguments": map[string]any{odd: 1, "choice": odd}})
	tool(cs, "call_tool", map[string]any{"tool": "up__" + odd})
	tool(cs, "call_tool", map[string]any{"tool": "up__get_prompt", "arguments": map[string]any{"name": "greet", "arguments": map[string]any{"who": "x"}}})
	tool(cs, "call_tool", map[string]any{"tool": "up__read_resource", "arguments": map[string]any{"uri": "doc://one"}})
}

func walkScripts(t *testing.T, cs *mcp.ClientSession, f *fields, few bool) {
	run := func(code string) { tool(cs, "execute_code", map[string]any{"code": code}) }
	for _, use := range uses {
		run(`return await callMCPTool("up__` + use + `", {})`)
		run(`try { await callMCPTool("up__` + use + `", {}) } catch (e) { console.log(e.message, e.hint) }`)
	}
	if few { // what a script writes itself is as long as it is
		return
	}
	odd := func(field string) string { return string(marshal(f.word(field))) }
	run(`return (await up.described({})).nothing.more`)
	run(`return up.described({ nothing: 1, choice: ` + odd("argument") + ` })`)
	run(`return callMCPTool("up__described", JSON.parse('{"nothing": 1, "choice": 2}'))`)
	run(`return callMCPTool("up__" + ` + odd("tool that a script names") + `, {})`)
	run(`return callMCPTool("up__get_prompt", { name: "greet", arguments: { who: "x" } })`)
	run(`return callMCPTool("up__read_resource", { uri: "doc://one" })`)
	run(`console.log(` + odd("stdout") + `); console.error(` + odd("stderr") + `); return { [` + odd("key of a script") + `]: ` + odd("result of a script") + ` }`)
	run(`throw new Error(` + odd("error of a script") + `)`)
	run(`const e = new Error("x"); e.name = ` + odd("name of an error") + `; throw e`)
	run(`return [await tools.describe("up__described"), await tools.search("described", { detail: "full" })]`)
	run(`return tools.describe(` + odd("described by a script") + `)`)
	run(`return results.get(` + odd("reference") + `)`)
	run(`await store.set(` + odd("key of the store") + `, ` + odd("value of the store") + `); return [await store.keys(), await store.get(` + odd("key of the store") + `)]`)
	run(`import { x } from './servers/` + odd("import")[1:5] + `'; return x`)
	run(odd("code"))
}

// What a turn pays for is bounded too.
func TestLongSchemasAreNotListed(t *testing.T) {
	long := stringParams(strings.Repeat("x", 20_000))
	b := newBroker(t, broker.Deps{}, broker.Settings{
		Mode: broker.ModeAuto,
		Servers: []upstream.Config{listing(t, "s", listedTool{Name: "short", InputSchema: stringParams("a")},
			listedTool{Name: "long", InputSchema: long})},
	})
	b.Refresh(t.Context())
	cs := connect(t, b, "2025-11-25", nil)
	tools := listed(t, cs)
	if tools["s__short"] == nil || tools["s__long"] != nil {
		t.Errorf("listed are %s", keys(tools))
	}
	if a := script(t, cs, `return callMCPTool("s__long", {})`, nil); a.ExitCode != 0 {
		t.Errorf("the long one cannot be called: %s", a.Stderr)
	}
}

// A name that hides something is shown spelt out, and works as it is shown.
func TestSpeltNamesWork(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"a\u200bb":{"enum":["x\udb40\udc41y"]}},"required":["a\u200bb"],"additionalProperties":false}`)
	b := newBroker(t, broker.Deps{}, broker.Settings{Mode: broker.ModeAuto, Servers: []upstream.Config{listing(t, "s", listedTool{Name: "echo", InputSchema: schema})}})
	b.Refresh(t.Context())
	cs := connect(t, b, "2025-11-25", nil)
	shown, err := json.Marshal(listed(t, cs)["s__echo"].InputSchema)
	if want := `"a\\u200bb":{"enum":["x\\u{e0041}y"]}`; err != nil || !strings.Contains(string(shown), want) {
		t.Errorf("the schema is %s, %v; want %s in it", shown, err, want)
	}
	const sent = "echo {\"a\u200bb\":\"x\U000e0041y\"}"
	a := script(t, cs, `const r = await s.echo({ "a\u200bb": "x\u{e0041}y" }); return [...r].map(c => c.codePointAt(0))`, nil)
	if want := marshal([]rune(sent)); string(a.Result) != string(want) {
		t.Errorf("a script sends %s, want %s; %s", a.Result, want, a.Stderr)
	}
	text, isError := call(t, cs, "s__echo", map[string]any{`a\u200bb`: `x\u{e0041}y`})
	if isError || text != `echo {"ab":"xy"}` {
		t.Errorf("a call answers %+q", text)
	}
}
