package upstream

//lint:file-ignore SA1019 roots and sampling are deprecated since 2026-07-28, and servers still use them

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// deep is JSON that no decoder reads.
var deep = strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)

// deepMark stands for deep until the rest is encoded.
const deepMark = "\x01deep"

// allLevels makes mutations of all parts of an example.
const allLevels = math.MaxInt

// levelsOver returns the number of levels of messages to vary over a wire: all over the
// wire on which everything is sent once, and the outer ones where only the transport
// differs.
func levelsOver(wire string) int {
	switch wire {
	case "stdio":
		return allLevels
	case "http stream":
		return 2
	}
	return 1
}

// mutations returns the JSON texts that a peer may send instead of example: null,
// another type, and each member of the outer levels in turn null and of other types, and
// the outermost ones nested too deep.
func mutations(t *testing.T, example string, levels int) []string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(example), &v); err != nil {
		t.Fatalf("%s: %v", example, err)
	}
	out := []string{"null", "{}", "[]", `"text"`, "7", deep, example}
	emit := func() {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.ReplaceAll(string(b), `"\u0001deep"`, deep))
	}
	odd := []any{nil, 7.5, "text", []any{nil}, map[string]any{}, map[string]any{"a": nil}}
	var walk func(v any, depth int)
	walk = func(v any, depth int) {
		if depth >= levels {
			return
		}
		odd := odd
		if depth == 0 { // most of the bytes to send
			odd = append(odd[:len(odd):len(odd)], deepMark)
		}
		switch v := v.(type) {
		case map[string]any:
			for k, old := range v {
				for _, o := range odd {
					v[k] = o
					emit()
				}
				delete(v, k)
				emit()
				v[k] = old
				walk(old, depth+1)
			}
		case []any:
			for i, old := range v {
				for _, o := range odd {
					v[i] = o
					emit()
				}
				v[i] = old
				walk(old, depth+1)
			}
		}
	}
	walk(v, 0)
	return out
}

// obliging answers every question at once.
type obliging struct{}

func (obliging) Capabilities() questions.Capabilities {
	return questions.Capabilities{Form: true, URL: true, Sampling: true, SamplingTools: true, Roots: true}
}
func (obliging) PageDone(string) {}
func (obliging) Answer(_ context.Context, q mcp.InputRequest) (mcp.InputResponse, error) {
	switch q.(type) {
	case *mcp.ElicitParams:
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"a": "x"}}, nil
	case *mcp.ListRootsParams:
		return &mcp.ListRootsResult{Roots: []*mcp.Root{}}, nil
	}
	return &mcp.CreateMessageWithToolsResult{Role: "assistant", Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "x"}}}, nil
}

// wires are the transports of a puppet.
var wires = []string{"stdio", "http stream", "http json", "sse"}

// newPuppet returns a pool with the server s, played by puppet over wire.
func newPuppet(t *testing.T, wire string, puppet *fakeupstream.Puppet) *Pool {
	t.Helper()
	o := &Options{Capabilities: obliging{}.Capabilities()}
	cfg := Config{Name: "s", StartTimeout: 20 * time.Second, CallTimeout: 20 * time.Second}
	switch wire {
	case "stdio":
		cfg.Command = "puppet"
		p := newPool(t, o, cfg)
		s := p.roster.Load().servers[0]
		s.dial.Pipes = func() (*transport.Stdio, error) {
			theirIn, ourOut := io.Pipe()
			ourIn, theirOut := io.Pipe()
			go func() {
				puppet.Serve(theirIn, theirOut)
				theirOut.Close()
			}()
			return transport.NewStdio(ourIn, ourOut, transport.StdioOptions{Dropped: s.out.Dropped.Add, ProbeWait: probeWait}), nil
		}
		return p
	case "sse":
		cfg.Type, cfg.URL = "sse", serve(t, puppet.SSE())
	case "http json":
		puppet.JSON = true
		fallthrough
	default:
		cfg.Type, cfg.URL = "http", serve(t, puppet)
	}
	return newPool(t, o, cfg)
}

const form = `{"mode":"form","message":"m","_meta":{"a":1},"requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"}]},"b":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}},"c":{"type":"string","enum":["x"],"enumNames":["X"],"default":"x"},"d":{"type":"number","minimum":1,"maximum":2,"default":1}},"required":["a"]}}`

// serverMessages are messages that a server sends without a request, with valid
// parameters.
var serverMessages = map[string]string{
	"ping":                   `{"_meta":{"progressToken":1}}`,
	"roots/list":             `{"_meta":{"progressToken":1}}`,
	"elicitation/create":     form,
	"elicitation/create url": `{"mode":"url","message":"m","url":"https://example.com/","elicitationId":"1"}`,
	"sampling/createMessage": `{"messages":[{"role":"user","content":{"type":"text","text":"x"}},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"x"}]}]}],"maxTokens":10,"systemPrompt":"s","temperature":0.5,"stopSequences":["x"],"modelPreferences":{"hints":[{"name":"n"}],"costPriority":1},"includeContext":"none","metadata":{"a":1},"tools":[{"name":"n","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"auto"}}`,
	"completion/complete":    `{"ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":"b"}}`,
	"no/such/method":         `{"a":1}`,

	"notifications/cancelled":                  `{"requestId":99999,"reason":"r"}`,
	"notifications/message":                    `{"level":"info","logger":"l","data":{"a":1}}`,
	"notifications/progress":                   `{"progressToken":"call-1","progress":1,"total":2,"message":"m"}`,
	"notifications/tools/list_changed":         `{"_meta":{"a":1}}`,
	"notifications/prompts/list_changed":       `{"_meta":{"a":1}}`,
	"notifications/resources/list_changed":     `{"_meta":{"a":1}}`,
	"notifications/resources/updated":          `{"uri":"a:b","title":"t"}`,
	"notifications/elicitation/complete":       `{"elicitationId":"1"}`,
	"notifications/subscriptions/acknowledged": `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]},"_meta":{"a":1}}`,
	"notifications/initialized":                `{"_meta":{"a":1}}`,
	"notifications/no_such":                    `{"a":1}`,
}

// No unsolicited message of a server ends the process, the session or the running call.
func TestServerMessagesEndNothing(t *testing.T) {
	t.Parallel()
	sent := 0
	for _, wire := range wires {
		for _, modern := range []bool{false, true} {
			if modern && wire == "sse" || wire == "http json" { // modern SSE does not exist, and a JSON body has no room for messages
				continue
			}
			puppet := &fakeupstream.Puppet{Modern: modern}
			p := newPuppet(t, wire, puppet)
			if st := p.Refresh(t.Context())[0]; st.State != StateReady {
				t.Fatalf("%s: status = %+v", wire, st)
			}
			for what, example := range serverMessages {
				method, _, _ := strings.Cut(what, " ")
				for _, id := range []string{"", `"id":4711,`, `"id":null,`} {
					levels := levelsOver(wire)
					if strings.HasPrefix(method, "notifications/") != (id == "") { // params of a notification are hardly read
						levels = min(levels, 2)
					}
					bodies := []string{""}
					for _, params := range mutations(t, example, levels) {
						bodies = append(bodies, `,"params":`+params)
					}
					frames := make([]string, 0, len(bodies)+1)
					for i, body := range bodies {
						frames = append(frames, `{"jsonrpc":"2.0",`+strings.Replace(id, "4711", "4711"+string(rune('0'+i%10))+strings.Repeat("0", i/10%10), 1)+`"method":"`+method+`"`+body+`}`)
					}
					sent += len(frames)
					puppet.On("tools/call echo", append(frames, fakeupstream.Result(`{"content":[{"type":"text","text":"answered"}]}`))...)
					got, err := p.Call(t.Context(), "s", "echo", nil, &CallOptions{Talker: obliging{}, OnLog: func(string, string) {}, OnProgress: func(float64, float64, string) {}})
					if err != nil || textOf(t, got) != "answered" {
						t.Errorf("%s, modern %v: a call during %q with id %q: %s, %v", wire, modern, what, id, got, err)
					}
				}
			}
			if n := puppet.Seen("initialize"); !modern && n != 1 {
				t.Errorf("%s: %d sessions, want 1", wire, n)
			}
		}
	}
	t.Logf("%d messages were sent", sent)
}

const inputRequired = `{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"}]},"b":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}}}}},"b":{"method":"roots/list"},"c":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"x"}}],"maxTokens":1}}}}`

// serverResults are valid results of a server, by request.
var serverResults = []struct{ method, example string }{
	{"tools/list", `{"tools":[{"name":"echo","title":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}},"required":["a"]},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"title":"t"},"icons":[{"src":"https://example.com/","sizes":["1x1"]}],"_meta":{"a":1}}],"nextCursor":"","ttlMs":1,"cacheScope":"public"}`},
	{"tools/call", `{"content":[{"type":"text","text":"x"},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource_link","uri":"a:b","name":"n"},{"type":"resource","resource":{"uri":"a:b","text":"x"}}],"structuredContent":{"a":1},"isError":false,"resultType":"complete"}`},
	{"tools/call", inputRequired},
	{"resources/list", `{"resources":[{"uri":"a:b","name":"n","title":"t","description":"d","mimeType":"text/plain","size":1,"annotations":{"audience":["user"],"priority":1},"icons":[{"src":"https://example.com/"}]}],"nextCursor":""}`},
	{"resources/templates/list", `{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n","title":"t","description":"d","mimeType":"text/plain"}],"nextCursor":""}`},
	{"resources/read", `{"contents":[{"uri":"a:b","mimeType":"text/plain","text":"x"},{"uri":"a:c","blob":"AA=="}],"ttlMs":1}`},
	{"prompts/list", `{"prompts":[{"name":"n","title":"t","description":"d","arguments":[{"name":"a","title":"t","description":"d","required":true}]}],"nextCursor":""}`},
	{"prompts/get", `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"x"}},{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","text":"x"}}}]}`},
	{"skills/list", `{"skills":[{"uri":"skill://a/b/SKILL.md","frontmatter":{"name":"b","description":"d"},"resources":[{"uri":"skill://a/b/x","digest":"sha256:00"}]}],"nextCursor":""}`},
	{"skills/get", `{"skill":{"uri":"skill://a/b/SKILL.md","frontmatter":{"name":"b","description":"d"},"resources":[{"uri":"skill://a/b/x","digest":"sha256:00"}]}}`},
	{"logging/setLevel", `{"_meta":{"a":1}}`},
	{"initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"logging":{},"completions":{},"experimental":{"a":{}},"extensions":{"io.modelcontextprotocol/skills":{"a":1}}},"serverInfo":{"name":"n","version":"1","title":"t","icons":[{"src":"https://example.com/"}]},"instructions":"i","_meta":{"a":1}}`},
	{"server/discover", `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"listChanged":true},"extensions":{"io.modelcontextprotocol/skills":{"a":1}}},"instructions":"i","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}},"resultType":"complete"}`},
}

// request sends the request of a method.
func request(ctx context.Context, p *Pool, method string) {
	o := &CallOptions{Talker: obliging{}, OnLog: func(string, string) {}}
	switch method { // ignore errors
	case "tools/call", "logging/setLevel":
		_, _ = p.Call(ctx, "s", "echo", nil, o)
	case "resources/read":
		_, _ = p.ReadResource(ctx, "s", "a:b")
		_, _ = p.Call(ctx, "s", ReadResource, json.RawMessage(`{"uri":"a:b"}`), o)
	case "prompts/get":
		_, _ = p.Call(ctx, "s", GetPrompt, json.RawMessage(`{"name":"n"}`), o)
	case "skills/get":
		_, _ = p.Skill(ctx, "s", "skill://a/b/SKILL.md")
	default:
		p.Refresh(ctx)
	}
}

// No result ends the process, and the server can be called after each.
func TestResultsEndNothing(t *testing.T) {
	t.Parallel()
	for _, wire := range wires {
		for _, modern := range []bool{false, true} {
			if modern && (wire == "sse" || wire == "http json") || !modern && wire == "http stream" {
				continue
			}
			for _, r := range serverResults {
				if opens(r.method) && modern != (r.method == "server/discover") {
					continue
				}
				t.Run(fmt.Sprintf("%s, modern %v: %s", wire, modern, r.method), func(t *testing.T) {
					t.Parallel() // some wait
					resultsEndNothing(t, wire, modern, r.method, r.example)
				})
			}
		}
	}
}

// opens reports whether a session begins with the method.
func opens(method string) bool { return method == "initialize" || method == "server/discover" }

func resultsEndNothing(t *testing.T, wire string, modern bool, method, example string) {
	puppet := &fakeupstream.Puppet{Modern: modern}
	p := newPuppet(t, wire, puppet)
	frames := []string{`{"jsonrpc":"2.0","id":$ID}`}
	for _, result := range mutations(t, example, levelsOver(wire)) {
		frames = append(frames, fakeupstream.Result(result))
	}
	errorLevels := levelsOver(wire)
	if method != "tools/call" { // tools/call reads most kinds of errors
		errorLevels = min(errorLevels, 2)
	}
	for _, e := range mutations(t, `{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","message":"m","url":"https://example.com/","elicitationId":"1"}]}}`, errorLevels) {
		frames = append(frames, `{"jsonrpc":"2.0","id":$ID,"error":`+e+`}`)
	}
	for _, frame := range frames {
		puppet.On(method, frame)
		if opens(method) {
			p = newPuppet(t, wire, puppet)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if example == inputRequired { // without requests, which is to be asked for later
			ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
		}
		request(ctx, p, method)
		if ctx.Err() != nil && example != inputRequired {
			t.Errorf("it is not over for %.200s", frame)
		}
		cancel()
	}
	puppet.On(method)
	if opens(method) {
		p = newPuppet(t, wire, puppet)
	}
	if _, err := p.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Errorf("a call after all results: %v", err)
	}
	t.Logf("%d results were sent", len(frames))
}

// While one server sends unreadable messages, 20 callers of others are not affected.
func TestFloodHarmsNoOther(t *testing.T) {
	t.Parallel()
	const rounds, perRound = 60, 50
	var texts []string
	for what, example := range serverMessages {
		method, _, _ := strings.Cut(what, " ")
		for i, params := range mutations(t, example, allLevels) {
			id := []string{"", `"id":7,`, `"id":null,`, `"id":[],`}[i%4]
			texts = append(texts, `{"jsonrpc":"2.0",`+id+`"method":"`+method+`","params":`+params+`}`, params)
		}
	}
	evil := new(fakeupstream.Puppet)
	p := newPuppet(t, "stdio", evil)
	others := newPool(t, nil, fake("a", fakeupstream.Good), fake("b", fakeupstream.Good))
	others.Refresh(t.Context())
	over := make(chan struct{})
	var wg sync.WaitGroup
	var right, wrong atomic.Int64
	for i := range 20 {
		wg.Go(func() {
			for !closed(over) {
				if _, err := others.Call(t.Context(), string(rune('a'+i%2)), "echo", nil, nil); err != nil {
					wrong.Add(1)
				} else {
					right.Add(1)
				}
			}
		})
	}
	next := 0
	for range rounds {
		frames := make([]string, 0, perRound+1)
		for range perRound {
			frames = append(frames, strings.ReplaceAll(texts[next%len(texts)], "\n", ""))
			next++
		}
		evil.On("tools/call echo", append(frames, fakeupstream.Result(`{"content":[]}`))...)
		if _, err := p.Call(t.Context(), "s", "echo", nil, &CallOptions{Talker: obliging{}}); err != nil {
			t.Errorf("the call during the flood: %v", err)
		}
	}
	close(over)
	wg.Wait()
	t.Logf("%d messages; other calls: %d right, %d wrong", rounds*perRound, right.Load(), wrong.Load())
	if wrong.Load() > 0 || right.Load() == 0 {
		t.Errorf("other calls: %d right, %d wrong", right.Load(), wrong.Load())
	}
}
