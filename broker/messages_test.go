package broker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/badmessages"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

// modernMeta is the metadata that protocol 2026-07-28 requires in every request.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bad","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}},` +
	`"io.modelcontextprotocol/logLevel":"info","progressToken":"p"}`

const initializeParams = `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true},"experimental":{"a":{}}},` +
	`"clientInfo":{"name":"bad","title":"t","version":"1","websiteUrl":"https://a.example","icons":[{"src":"a","sizes":["1"]}]}}`

// A sample is a valid message.
type sample struct{ method, params string }

// requestSamples are requests of all methods that a client may send.
var requestSamples = []sample{
	{"initialize", initializeParams},
	{"ping", `{}`},
	{"server/discover", `{}`},
	{"tools/list", `{"cursor":"c"}`},
	{"tools/call", `{"name":"search_tools","arguments":{"query":"file","limit":3,"detail":"full","server":"files"}}`},
	{"tools/call", `{"name":"list_servers","arguments":{"server":"files"},"inputResponses":{"q1":{"action":"accept","content":{"a":"b"}}},"requestState":"s"}`},
	{"tools/call", `{"name":"execute_code","arguments":{"code":"return 1","language":"javascript","timeout":1,"isolation":"process"}}`},
	{"prompts/list", `{"cursor":"c"}`},
	{"prompts/get", `{"name":"use-broker","arguments":{"a":"b"}}`},
	{"prompts/get", `{"name":"release-notes","arguments":{"arguments":"b"}}`},
	{"resources/list", `{"cursor":"c"}`},
	{"resources/templates/list", `{"cursor":"c"}`},
	{"resources/read", `{"uri":"skill://local/user/release-notes/SKILL.md"}`},
	{"resources/subscribe", `{"uri":"skill://broker/use-broker/SKILL.md"}`},
	{"resources/unsubscribe", `{"uri":"skill://broker/use-broker/SKILL.md"}`},
	{"subscriptions/listen", `{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a"]}}`},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"use-broker"},"argument":{"name":"a","value":"b"},"context":{"arguments":{"a":"b"}}}`},
	{"completion/complete", `{"ref":{"type":"ref/resource","uri":"a"},"argument":{"name":"a","value":"b"}}`},
	{"logging/setLevel", `{"level":"info"}`},
	{"skills/list", `{"cursor":"c"}`},
	{"skills/get", `{"uri":"skill://broker/use-broker/SKILL.md"}`},
	{"resources/directory/read", `{"uri":"skill://local/user","cursor":"c"}`},
	{"tasks/get", `{"taskId":"t"}`},
	{"roots/list", `{}`},
	{"sampling/createMessage", `{"messages":[]}`},
	{"elicitation/create", `{"message":"m"}`},
}
var notificationSamples = []sample{
	{"notifications/initialized", `{"_meta":{"a":1}}`},
	{"notifications/cancelled", `{"requestId":"nobody","reason":"r","_meta":{"a":1}}`},
	{"notifications/progress", `{"progressToken":"p","progress":1,"total":2,"message":"m","_meta":{"a":1}}`},
	{"notifications/roots/list_changed", `{"_meta":{"a":1}}`},
	{"notifications/elicitation/complete", `{"elicitationId":"e"}`},
	{"notifications/tools/list_changed", `{"_meta":{"a":1}}`},
}

// ids returns a new request id each time.
func ids(prefix string) func() string {
	var n atomic.Int64
	return func() string { return fmt.Sprintf(`"%s-%d"`, prefix, n.Add(1)) }
}

// hostileMessages returns all messages that need no earlier message of the other side.
// Params are varied at the outermost levels; params of requests sent as notifications,
// and the reverse, at one level less, and at most at two.
func hostileMessages(modern bool, levels int) []string {
	id := ids("bad")
	swapped := min(levels-1, 2)
	list := badmessages.Envelopes()
	withMeta := func(params []string) []string {
		for i, p := range params {
			if rest, ok := strings.CutPrefix(p, "{"); ok && modern {
				if params[i] = "{" + modernMeta + "," + rest; rest == "}" {
					params[i] = "{" + modernMeta + "}"
				}
			}
		}
		return params
	}
	whole := []sample{{"tools/list", "{" + modernMeta + "}"}, {"tools/call", `{"name":"list_servers",` + modernMeta + "}"}}
	for _, s := range append(whole, requestSamples...) {
		list = append(list, badmessages.Requests(s.method, withMeta(badmessages.Outer(s.params, levels)), id)...)
		list = append(list, badmessages.Notifications(s.method, withMeta(badmessages.Outer(s.params, swapped)))...)
	}
	for _, s := range notificationSamples {
		list = append(list, badmessages.Notifications(s.method, badmessages.Outer(s.params, levels))...)
		list = append(list, badmessages.Requests(s.method, badmessages.Outer(s.params, swapped), id)...)
	}
	// Answers without a request.
	return append(list, badmessages.Responses("1", `{"roots":[{"uri":"file:///a"}]}`)...)
}

// A panicLog is a log that fails the test at a panic.
type panicLog struct {
	slog.Handler
	t *testing.T
}

func (l panicLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "panic" {
		r.Attrs(func(a slog.Attr) bool { l.t.Errorf("panic: %s: %.3000s", a.Key, a.Value); return true })
	}
	return nil
}

// attacked returns a broker with skills, and a server that asks.
func attacked(t *testing.T) *broker.Broker {
	t.Helper()
	_, r := newSkills(t)
	b := newBroker(t, broker.Deps{Runner: inproc.New(), Logger: slog.New(panicLog{slog.NewTextHandler(io.Discard, nil), t})}, broker.Settings{
		Skills:        r,
		AnswerTimeout: time.Minute,
		Servers: []upstream.Config{upstreamConfig(t, "files"), {Name: "asks", Command: fakeupstream.Command(), Args: fakeupstream.Args(fakeupstream.AsksLegacy)},
			{Name: "modern", Command: fakeupstream.Command(), Args: fakeupstream.Args(fakeupstream.Asks)}},
	})
	b.Refresh(t.Context())
	return b
}

// A lineClient writes lines to a broker and reads its lines.
type lineClient struct {
	t      *testing.T
	in     io.Writer
	lines  chan string
	sent   int
	probes int
	// asked is called for each request of the broker; nil ignores them.
	asked func(id, method string)
}

func newLineClient(t *testing.T, b *broker.Broker, peer surface.Peer) *lineClient {
	t.Helper()
	in, toBroker := io.Pipe()
	fromBroker, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- surface.ServeLines(t.Context(), b.Server("stdio"), peer, in, out) }()
	c := &lineClient{t: t, in: toBroker, lines: make(chan string, 1<<16)}
	go func() {
		r := bufio.NewReaderSize(fromBroker, 1<<20)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				close(c.lines)
				return
			}
			c.lines <- line
		}
	}()
	t.Cleanup(func() {
		_ = toBroker.Close()
		<-done
		_ = out.Close()
	})
	return c
}

func (c *lineClient) send(message string) {
	c.t.Helper()
	c.sent++
	if _, err := io.WriteString(c.in, message+"\n"); err != nil {
		c.t.Fatalf("send %.200s: %v", message, err)
	}
}

// answer waits for the answer to a request.
func (c *lineClient) answer(id string) string {
	c.t.Helper()
	for line := range c.lines {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			c.t.Fatalf("the broker says %.200s: %v", line, err)
		}
		if m.Method != "" && m.ID != nil && c.asked != nil {
			c.asked(string(m.ID), m.Method)
		}
		if m.Method == "" && string(m.ID) == id {
			return line
		}
	}
	c.t.Fatalf("the session has ended before the answer to %s", id)
	return ""
}

// probe returns when the broker has read everything that was sent.
func (c *lineClient) probe(modern bool) {
	c.t.Helper()
	c.probes++
	id := fmt.Sprintf(`"probe-%d"`, c.probes)
	params := "{}"
	if modern {
		params = "{" + modernMeta + "}"
	}
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%s,"method":"tools/list","params":%s}`+"\n", id, params); err != nil {
		c.t.Fatal(err)
	}
	if line := c.answer(id); !strings.Contains(line, "search_tools") {
		c.t.Fatalf("tools/list is answered %.300s", line)
	}
}

func (c *lineClient) initialize() {
	c.t.Helper()
	_, _ = io.WriteString(c.in, `{"jsonrpc":"2.0","id":"first","method":"initialize","params":`+initializeParams+"}\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	c.answer(`"first"`)
}

// checkOthers fails the test if another session no longer works.
func checkOthers(t *testing.T, cs *mcp.ClientSession) {
	t.Helper()
	if text, isError := call(t, cs, "search_tools", map[string]any{"query": "read a file"}); isError || !strings.Contains(text, "files") {
		t.Fatalf("another session is answered %.300s", text)
	}
}

func TestNoMessageOfAClientEndsTheBroker(t *testing.T) {
	t.Parallel()
	b := attacked(t)
	other := connect(t, b, "2025-11-25", nil)
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprintf("lines modern=%v", modern), func(t *testing.T) {
			c := newLineClient(t, b, surface.Peer{ID: "bad"})
			if !modern {
				c.initialize()
			}
			for i, m := range hostileMessages(modern, math.MaxInt) {
				c.send(m)
				if i%50 == 0 {
					c.probe(modern)
					checkOthers(t, other)
				}
			}
			c.probe(modern)
			checkOthers(t, other)
			t.Logf("sent %d messages", c.sent)
		})
		t.Run(fmt.Sprintf("http modern=%v", modern), func(t *testing.T) {
			p := newHTTPClient(t, b, modern)
			list := hostileMessages(modern, 2)
			p.all(list, func() { checkOthers(t, other) })
			t.Logf("sent %d messages", len(list))
		})
	}
}

// A pair is two replicas that pass requests on to each other.
type pair struct {
	name, other string
	inner       map[string]http.Handler
}

func (p pair) Name() string         { return p.name }
func (p pair) Serve(h http.Handler) { p.inner[p.name] = h }
func (p pair) Pass(w http.ResponseWriter, r *http.Request, name string) bool {
	if name != p.other {
		return false
	}
	p.inner[p.other].ServeHTTP(w, r)
	return true
}

// Messages that one replica passes on to another are harmless too.
func TestNoMessageEndsAnotherReplica(t *testing.T) {
	t.Parallel()
	inner := make(map[string]http.Handler)
	urls := make(map[string]string)
	for name, other := range map[string]string{"one": "two", "two": "one"} {
		h, err := attacked(t).Handler(broker.HTTPOptions{Addr: "127.0.0.1:0", Replicas: pair{name, other, inner}})
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		urls[name] = srv.URL
	}
	other := connectHTTP(t, urls["one"], "", mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil))
	for _, modern := range []bool{false, true} {
		p := &httpClient{t: t, url: urls["one"], modern: modern}
		if p.begin(); !modern && !strings.HasPrefix(p.headers["Mcp-Session-Id"], "one-") {
			t.Fatalf("session %v is not of this replica", p.headers)
		}
		p.url = urls["two"] // forwards every message of a session
		list := hostileMessages(modern, 2)
		p.all(list, func() { checkOthers(t, other) })
		t.Logf("modern=%v: sent %d messages", modern, len(list))
	}
}

// An httpClient posts messages to a broker.
type httpClient struct {
	t       *testing.T
	url     string
	headers map[string]string
	modern  bool
}

func newHTTPClient(t *testing.T, b *broker.Broker, modern bool) *httpClient {
	t.Helper()
	p := &httpClient{t: t, url: serveHTTP(t, b, nil).URL, modern: modern}
	p.begin()
	return p
}

// begin sets the headers of the client, and those of a session in the older protocols.
func (p *httpClient) begin() {
	p.t.Helper()
	if p.modern {
		p.headers = map[string]string{"Mcp-Protocol-Version": "2026-07-28"}
		return
	}
	_, session, _ := post(p.t, p.t.Context(), p.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+initializeParams+`}`, nil)
	if session == "" {
		p.t.Fatal("no session")
	}
	p.headers = map[string]string{"Mcp-Session-Id": session}
}

// post sends a message and returns the status. It does not wait for the end of a
// stream that stays open.
func (p *httpClient) post(body string) int {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+"/mcp", strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range p.headers {
		req.Header.Set(k, v)
	}
	if p.modern {
		var m struct {
			Method string
			Params struct{ Name, URI any }
		}
		_ = json.Unmarshal([]byte(body), &m) // the headers matter where the message can be read
		req.Header.Set("Mcp-Method", m.Method)
		for _, name := range []any{m.Params.Name, m.Params.URI} {
			if name, ok := name.(string); ok {
				req.Header.Set("Mcp-Name", name)
			}
		}
	}
	res, err := postClient.Do(req)
	if err != nil {
		p.t.Errorf("%.300s: %v", body, err)
		return 0
	}
	defer res.Body.Close()
	if !strings.Contains(body, "subscriptions/listen") {
		_, err = io.Copy(io.Discard, res.Body)
	}
	if err != nil {
		p.t.Errorf("%.300s: %v", body, err)
	}
	return res.StatusCode
}

// atOnce is how many messages are posted at a time.
const atOnce = 64

// postClient keeps its connections from one message to the next.
var postClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}}

// all posts all messages, several at a time.
func (p *httpClient) all(list []string, between func()) {
	p.t.Helper()
	for len(list) > 0 {
		n := min(atOnce, len(list))
		var wg sync.WaitGroup
		for _, m := range list[:n] {
			wg.Go(func() {
				if p.post(m) == http.StatusInternalServerError {
					p.t.Errorf("internal error after %.300s", m)
				}
			})
		}
		wg.Wait()
		list = list[n:]
		between()
	}
}

// answersOf returns the answers that a client may give to each request of the broker.
var answersOf = map[string]string{
	"elicitation/create":     `{"action":"accept","content":{"name":"Ada"},"_meta":{"a":1}}`,
	"sampling/createMessage": `{"model":"m","role":"assistant","stopReason":"endTurn","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"i","name":"t","input":{"a":1}}]}`,
	"roots/list":             `{"roots":[{"uri":"file:///tmp","name":"n","_meta":{"a":1}}],"_meta":{"a":1}}`,
}

// No answer of a client to questions of servers or of the broker ends a session or the
// broker.
func TestNoAnswerOfAClientEndsTheBroker(t *testing.T) {
	t.Parallel()
	b := attacked(t)
	other := connect(t, b, "2025-11-25", nil)
	for method, code := range map[string]string{
		"elicitation/create": "asks.form({})", "sampling/createMessage": "asks.samplingTools({})", "roots/list": "asks.roots({})",
	} {
		t.Run(method, func(t *testing.T) {
			c := newLineClient(t, b, surface.Peer{ID: "bad " + method, Roots: func([]string) {}})
			next, answers := 0, badmessages.Responses("$ID", answersOf[method])
			c.asked = func(id, m string) {
				if m == method && next < len(answers) {
					c.send(strings.Replace(answers[next], "$ID", id, 1))
				}
				// A message that is not an answer leaves the request open.
				fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"no"}}`+"\n", id)
			}
			c.initialize()
			for ; next < len(answers); next++ {
				if method == "roots/list" {
					c.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
				}
				id := fmt.Sprintf(`"ask-%d"`, next)
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"return await %s.catch(e => e.code)"}}}`, id, code))
				c.answer(id)
			}
			c.probe(false)
			checkOthers(t, other)
			t.Logf("sent %d messages", c.sent)
		})
	}
	t.Run("inputResponses", func(t *testing.T) {
		c := newLineClient(t, b, surface.Peer{ID: "bad modern"})
		list := badmessages.Values(`{"q1":` + answersOf["elicitation/create"] + `}`)
		for i, answers := range list {
			ask := func(id, more string) {
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"execute_code",%s"arguments":{"code":"return await modern.form({}).catch(e => e.code)"},%s}}`, id, more, modernMeta))
			}
			first := fmt.Sprintf(`"ask-%d"`, i)
			ask(first, "")
			line := c.answer(first)
			var m struct{ Result struct{ RequestState string } }
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.Result.RequestState == "" {
				t.Fatalf("the script does not ask: %.300s", line)
			}
			state := fmt.Sprintf(`"requestState":%q,`, m.Result.RequestState)
			if answers != "" {
				ask(fmt.Sprintf(`"come-back-%d"`, i), state+`"inputResponses":`+answers+",")
			}
			// The script still waits if they could not be read at all.
			last := fmt.Sprintf(`"end-%d"`, i)
			ask(last, state)
			c.answer(last)
		}
		checkOthers(t, other)
		t.Logf("sent %d messages", c.sent)
	})
}

// A wrong argument of a few hundred kB is not echoed.
func TestLongArgumentsAreNotEchoed(t *testing.T) {
	b := attacked(t)
	cs := connect(t, b, "2025-11-25", nil)
	long := strings.Repeat("ä", 150_000)
	for tool, arguments := range map[string][]string{
		"execute_code": {"language", "isolation", "timeout", "plan", "resume", "other"},
		"search_tools": {"server", "detail", "limit", "kind", "other"},
		"list_servers": {"server", "other"},
	} {
		for _, name := range arguments {
			args := map[string]any{name: long}
			if tool == "execute_code" && name != "other" {
				args["code"] = "return 1"
			}
			if tool == "search_tools" {
				args["query"] = "file"
			}
			if text, _ := call(t, cs, tool, args); len(text) > 8<<10 {
				t.Errorf("%s with %s of %d bytes is answered with %d", tool, name, len(long), len(text))
			}
		}
	}
}

// The log level of a client is one of the known words.
func TestLogLevelsAreKnownOnes(t *testing.T) {
	b := attacked(t)
	c := newLineClient(t, b, surface.Peer{ID: "levels"})
	c.initialize()
	for i, level := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", "", "INFO", "trace", strings.Repeat("x", 100_000)} {
		id := fmt.Sprintf(`"level-%d"`, i)
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"logging/setLevel","params":{"level":%q}}`, id, level))
		line := c.answer(id)
		if known := i < 8; known != !strings.Contains(line, "-32602") || len(line) > 400 {
			t.Errorf("level %.20q is answered %.400s", level, line)
		}
	}
}

// A large "_meta" is refused, since the SDK would keep it.
func TestMetaIsBounded(t *testing.T) {
	b := attacked(t)
	c := newLineClient(t, b, surface.Peer{ID: "meta"})
	c.send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"` + strings.Repeat("x", 100_000) + `","progress":1}}`)
	c.send(`{"jsonrpc":"2.0","id":"much","method":"tools/list","params":{` + strings.Replace(modernMeta, `"name":"bad"`, `"name":"`+strings.Repeat("x", 100_000)+`"`, 1) + `}}`)
	if line := c.answer(`"much"`); !strings.Contains(line, "_meta has 100") {
		t.Errorf("a long _meta is answered %.300s", line)
	}
	c.send(`{"jsonrpc":"2.0","id":"args","method":"tools/call","params":{"name":"search_tools","arguments":{"query":"file","other":"` + strings.Repeat("x", 100_000) + `"},` + modernMeta + `}}`)
	if line := c.answer(`"args"`); !strings.Contains(line, "result") {
		t.Errorf("long arguments are answered %.300s", line)
	}
	c.probe(true)
}
