package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	wait "github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/internal/workertest"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// The test binary is also the sandbox's child, for examples, and some upstream servers.
func TestMain(m *testing.M) {
	if worker.IsChild() {
		worker.Main()
		return
	}
	if typecheck.IsLauncher() {
		typecheck.Launch()
		return
	}
	if filepath.Base(os.Args[0]) == brokenCompiler {
		runBrokenCompiler()
		return
	}
	fakeupstream.RunIfAsked()
	if len(os.Args) > 2 && os.Args[1] == "upstream" {
		serveUpstream(os.Args[2])
		syscall.Exit(0) // the race detector would sleep for a second, and the broker wait for that
	}
	code := m.Run()
	for _, f := range atEnd {
		f()
	}
	os.Exit(code)
}

// atEnd is done when the last test has ended.
var atEnd []func()

// serveUpstream is a real MCP server on stdio. "files" reads, "notes" writes
// notes. What happens to "wait" is seen in files that the environment names.
func serveUpstream(kind string) {
	var about []byte // what the server says of itself
	if len(os.Args) > 3 {
		about, _ = os.ReadFile(os.Args[3]) // without the file it says nothing
	}
	s := mcp.NewServer(&mcp.Implementation{Name: kind, Version: "1"}, &mcp.ServerOptions{Instructions: string(about)})
	switch kind {
	case "files":
		addFileTools(s)
	case "notes":
		addNoteTools(s)
	case "github":
		addIssueTools(s)
	case "traced":
		addTracedTools(s)
	case "media":
		addMediaTools(s)
	case "library":
		addLibrary(s)
	case "shifty":
		addShiftyTools(s)
	case "stripe":
		addListTools(s)
	default:
		addListedTools(s, kind)
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func addFileTools(s *mcp.Server) {
	read := &mcp.ToolAnnotations{ReadOnlyHint: true}
	raw := func(name, description, schema string, a *mcp.ToolAnnotations, h func(ctx context.Context, args map[string]any) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema), Annotations: a},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var args map[string]any
				if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
					return nil, err
				}
				return h(ctx, args)
			})
	}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	raw("read_file", "Read the text of a file. Fails if there is none.", `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`, read,
		func(_ context.Context, a map[string]any) (*mcp.CallToolResult, error) {
			if a["path"] == "missing" {
				r := text("no such file: missing")
				r.IsError = true
				return r, nil
			}
			return text("text of " + a["path"].(string)), nil
		})
	raw("list_rows", "List rows of a table, in JSON.", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, read,
		func(_ context.Context, a map[string]any) (*mcp.CallToolResult, error) {
			var b strings.Builder
			b.WriteString(`{"zeta":9007199254740993,"alpha":[`)
			for i := range int(a["n"].(float64)) {
				if i > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, `{"id":%d,"title":"row %d"}`, i, i)
			}
			return text(b.String() + `]}`), nil
		})
	raw("wait", "Wait until the call is cancelled.", `{"type":"object"}`, read,
		func(ctx context.Context, _ map[string]any) (*mcp.CallToolResult, error) {
			if f := os.Getenv("STARTED_FILE"); f != "" {
				_ = os.WriteFile(f, []byte("started"), 0o600)
			}
			<-ctx.Done()
			if f := os.Getenv("CANCELLED_FILE"); f != "" {
				_ = os.WriteFile(f, []byte("cancelled"), 0o600)
			}
			return nil, ctx.Err()
		})
	raw("delete_file", "Delete a file for good.", `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`, nil,
		func(_ context.Context, _ map[string]any) (*mcp.CallToolResult, error) { return text("gone"), nil })
}

func addNoteTools(s *mcp.Server) {
	type note struct {
		Title string `json:"title" jsonschema:"the note's title"`
	}
	type stored struct {
		Count int `json:"count"`
	}
	count := 0
	mcp.AddTool(s, &mcp.Tool{Name: "create_note", Description: "Store a note."},
		func(_ context.Context, _ *mcp.CallToolRequest, _ note) (*mcp.CallToolResult, stored, error) {
			count++
			return nil, stored{count}, nil
		})
}

// addShiftyTools adds a tool whose answers look otherwise from 100 on.
func addShiftyTools(s *mcp.Server) {
	type which struct {
		N int `json:"n"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "get_thing", Description: "Get a thing."},
		func(_ context.Context, _ *mcp.CallToolRequest, w which) (*mcp.CallToolResult, any, error) {
			text := fmt.Sprintf(`{"id":%d,"title":"thing"}`, w.N)
			if w.N >= 100 {
				text = `{"id":"x"}`
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "get_image", Description: "Get a picture."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("\x89PNG picture")}}}, nil, nil
		})
}

// addMediaTools adds tools whose results are not one text.
func addMediaTools(s *mcp.Server) {
	add := func(name string, content ...mcp.Content) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Give some media.", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: content}, nil
			})
	}
	add("picture", &mcp.TextContent{Text: "a picture"}, &mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}, &mcp.TextContent{Text: "of a house"})
	add("sound", &mcp.AudioContent{Data: []byte("wav"), MIMEType: "audio/wav"})
	add("book", &mcp.TextContent{Text: strings.Repeat("word ", 20_000)})
	add("page", &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: "what it says"}})
	add("nothing")
	add("album", slices.Repeat([]mcp.Content{&mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}}, 10)...)
	add("poster", &mcp.ImageContent{Data: make([]byte, 5<<20+1), MIMEType: "image/png"})
	beside := func(name string, structured any, content ...mcp.Content) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Give fields and more.", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{StructuredContent: structured, Content: content}, nil
			})
	}
	beside("chart", map[string]any{"points": 3}, &mcp.TextContent{Text: `{"points": 3}`}, &mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"})
	beside("summary", map[string]any{"rows": 2}, &mcp.TextContent{Text: "2 rows of 900"})
	beside("empty", map[string]any{}, &mcp.TextContent{Text: "all is in the text"})
}

// addListedTools adds the tools in a JSON file. Each answers with the text of
// its arguments.
func addListedTools(s *mcp.Server, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	var tools []*mcp.Tool
	if err := json.Unmarshal(data, &tools); err != nil {
		panic(err)
	}
	for _, t := range tools {
		s.AddTool(t, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t.Name + " " + string(req.Params.Arguments)}}}, nil
		})
	}
}

// A listedTool is one of the tools of a server that listing configures.
type listedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations any             `json:"annotations,omitempty"`
}

// stringParams is the schema of an object with the given optional strings.
func stringParams(names ...string) json.RawMessage {
	var props []string
	for _, n := range names {
		props = append(props, fmt.Sprintf("%q:{\"type\":\"string\"}", n))
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(props, ",") + `}}`)
}

var readOnly = map[string]bool{"readOnlyHint": true}

// listing configures a real server that has these tools.
func listing(t testing.TB, name string, tools ...listedTool) upstream.Config {
	t.Helper()
	data, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	c := upstreamConfig(t, file)
	c.Name = name
	return c
}

func upstreamConfig(t testing.TB, kind string) upstream.Config {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return upstream.Config{Name: kind, Command: exe, Args: []string{"upstream", kind}}
}

// options are the arguments of broker.New.
type options struct {
	broker.Deps
	broker.Settings
}

// newBroker returns a started broker with the servers files and notes, or those of s, and
// real sandboxes unless d has others.
func newBroker(t testing.TB, d broker.Deps, s broker.Settings) *broker.Broker {
	t.Helper()
	if s.Servers == nil {
		s.Servers = []upstream.Config{upstreamConfig(t, "files"), upstreamConfig(t, "notes")}
	}
	if d.Runner == nil {
		d.Runner = newRunner(t)
	}
	b, err := broker.New(d, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	b.Start(t.Context())
	return b
}

// newRunner returns real sandboxes, of broker-worker.
func newRunner(t testing.TB) sandbox.Runner {
	t.Helper()
	path, err := workerProgram()
	if err != nil {
		t.Fatal(err)
	}
	return worker.New(&worker.Options{Executable: path})
}

// workerProgram builds broker-worker for all tests.
var workerProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "worker")
	if err != nil {
		return "", err
	}
	atEnd = append(atEnd, func() { _ = os.RemoveAll(dir) })
	return workertest.Build(dir)
})

// connect returns an MCP client of b that speaks the given protocol version.
func connect(t testing.TB, b *broker.Broker, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	ct, st := mcp.NewInMemoryTransports()
	ss, err := b.Server("test").Connect(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	cs, err := c.Connect(t.Context(), ct, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close(); _ = ss.Wait() })
	return cs
}

// call calls a tool of the broker and returns its one text block.
func call(t testing.TB, cs *mcp.ClientSession, tool string, args any) (text string, isError bool) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if len(res.Content) != 1 || res.StructuredContent != nil {
		t.Fatalf("%s answers %d blocks and structured content %v; want one block and nothing twice", tool, len(res.Content), res.StructuredContent)
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

// eventually polls until ok holds, for what another process does.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	wait.True(t, what, ok)
}
