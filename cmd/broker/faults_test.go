package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/postgres"
)

// faultsFor is how long each fault is tried, if BROKER_FAULTS says so; a test alone
// takes as long as it needs.
func faultsFor(t testing.TB) time.Duration {
	d, err := time.ParseDuration(os.Getenv("BROKER_FAULTS"))
	if err != nil && os.Getenv("BROKER_FAULTS") != "" {
		t.Fatalf("BROKER_FAULTS: %v", err)
	}
	return d
}

// A counter is a server that counts writes by key. Who calls its tool "gate" waits
// until the gate is open.
type counter struct {
	url    string
	gate   chan struct{}
	waits  atomic.Int64
	mu     sync.Mutex
	writes map[string]int
}

func startCounter(t testing.TB) *counter {
	t.Helper()
	c := &counter{gate: make(chan struct{}), writes: make(map[string]int)}
	type key struct {
		Key string `json:"key"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "counter", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "write", Description: "Counts a write."}, func(_ context.Context, _ *mcp.CallToolRequest, k key) (*mcp.CallToolResult, any, error) {
		c.mu.Lock()
		c.writes[k.Key]++
		c.mu.Unlock()
		time.Sleep(3 * time.Millisecond) // as long as a near server takes
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "read", Description: "Reads.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, k key) (*mcp.CallToolResult, key, error) {
			return nil, k, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "gate", Description: "Waits.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, _ *mcp.CallToolRequest, k key) (*mcp.CallToolResult, key, error) {
			c.waits.Add(1)
			defer c.waits.Add(-1)
			select {
			case <-c.gate:
			case <-ctx.Done():
			case <-t.Context().Done(): // the test has failed
			}
			return nil, k, ctx.Err()
		})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	t.Cleanup(h.Close)
	t.Cleanup(h.CloseClientConnections)
	c.url = h.URL
	return c
}

// count is how often a key was written.
func (c *counter) count(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes[key]
}

// faultsConfig is a config with servers at URLs.
func faultsConfig(t testing.TB, servers map[string]string, broker map[string]any) string {
	t.Helper()
	all := make(map[string]any)
	for name, url := range servers {
		all[name] = map[string]any{"url": url}
	}
	broker["http"] = map[string]any{"tokens": map[string]string{"me": fleetToken, "another": "x" + fleetToken}}
	path := filepath.Join(t.TempDir(), "servers.json")
	writeConfig(t, path, map[string]any{"mcpServers": all, "broker": broker})
	return path
}

// A caller makes requests of one protocol era, and repeats none.
type caller struct {
	url, version, session string
	token                 string // empty for that of most
	client                *http.Client
}

func newCaller(t testing.TB, url, version string) *caller {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 1}
	t.Cleanup(transport.CloseIdleConnections)
	c := &caller{url: url, version: version, client: &http.Client{Transport: transport}}
	if version == legacy {
		resp, _, err := c.post(t.Context(), "initialize", map[string]any{"protocolVersion": legacy, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}})
		if err != nil {
			t.Fatal(err)
		}
		c.session = resp.Header.Get("Mcp-Session-Id")
	}
	return c
}

// post makes one request, and returns the result of its answer.
func (c *caller) post(ctx context.Context, method string, params map[string]any) (*http.Response, json.RawMessage, error) {
	if c.version == modern {
		params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientInfo": map[string]any{"name": "t", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {c.version},
		"Authorization": {"Bearer " + cmp.Or(c.token, fleetToken)}}
	if c.version == modern {
		req.Header.Set("Mcp-Method", method)
		if name, ok := params["name"].(string); ok {
			req.Header.Set("Mcp-Name", name)
		}
	} else if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", resp.Status, text)
	}
	if err != nil {
		return nil, nil, err
	}
	if at := bytes.LastIndex(text, []byte("data: {")); at >= 0 { // a stream, whose last message is the answer
		text = text[at+len("data: "):]
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(bytes.TrimSpace(text), &answer); err != nil {
		return nil, nil, fmt.Errorf("%w: %.300q", err, text)
	}
	if answer.Error != nil {
		return nil, nil, fmt.Errorf("error: %s", answer.Error.Message)
	}
	return resp, answer.Result, nil
}

// tool calls a tool, and returns the text that it answers. What the tool says is
// wrong is an error.
func (c *caller) tool(ctx context.Context, name string, args map[string]any) (string, error) {
	_, result, err := c.post(ctx, "tools/call", map[string]any{"name": name, "arguments": args})
	if err != nil {
		return "", err
	}
	var r struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) == 0 {
		return "", fmt.Errorf("answer %s: %w", result, err)
	}
	if r.IsError {
		return "", fmt.Errorf("failed: %s", r.Content[0].Text)
	}
	return r.Content[0].Text, nil
}

// run executes code.
func (c *caller) run(ctx context.Context, code string) (string, error) {
	return c.tool(ctx, "execute_code", map[string]any{"code": code, "timeout": 100})
}

// A load is some clients that execute scripts one after the other. Each script has a
// key of its own, with which it writes and reads.
type load struct {
	t       *testing.T
	counter *counter
	stop    chan struct{}
	end     func() // ends the clients, and waits for them
	wg      sync.WaitGroup
	n       atomic.Int64 // answered

	mu       sync.Mutex
	answered map[string]string // with what, by key
	failed   map[string]error
}

const loadScript = `await counter.write({key: "%[1]s-1"}); await counter.read({key: "%[1]s"}); await counter.write({key: "%[1]s-2"}); return "%[1]s"`

// startLoad starts n clients, of both protocol eras by turns.
func startLoad(t *testing.T, c *counter, n int, urls ...string) *load {
	t.Helper()
	l := &load{t: t, counter: c, stop: make(chan struct{}), answered: make(map[string]string), failed: make(map[string]error)}
	l.end = sync.OnceFunc(func() { close(l.stop); l.wg.Wait() })
	t.Cleanup(l.end)
	for i := range n {
		client := newCaller(t, urls[i%len(urls)], []string{legacy, modern}[i/len(urls)%2])
		l.wg.Go(func() {
			for turn := 0; ; turn++ {
				select {
				case <-l.stop:
					return
				default:
				}
				key := fmt.Sprintf("k%d-%d-", i, turn)
				answer, err := client.run(t.Context(), fmt.Sprintf(loadScript, key))
				l.mu.Lock()
				if err != nil {
					l.failed[key] = err
				} else {
					l.answered[key] = answer
				}
				l.mu.Unlock()
				if err == nil {
					l.n.Add(1)
					continue
				}
				select { // as clients do
				case <-l.stop:
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	return l
}

// keptRows are what a database has of scripts, by key.
type keptRows struct {
	db         *postgres.Database
	executions map[string]state.Execution
	calls      map[string][]state.Call
	runs       map[string][]state.RunCall
	flaws      []state.Flaw
}

func openKept(t *testing.T, address string) *keptRows {
	t.Helper()
	db, err := postgres.Connect(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &keptRows{db: db, executions: map[string]state.Execution{}, calls: map[string][]state.Call{}, runs: map[string][]state.RunCall{}}
}

func keyOf(code string) string {
	_, key, _ := strings.Cut(code, `return "`)
	return strings.TrimSuffix(key, `"`)
}

// read reads the record.
func (k *keptRows) read(t *testing.T) {
	t.Helper()
	record, err := k.db.Record(t.Context(), &postgres.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer record.Close()
	err = record.Export(t.Context(), func(e state.Execution, calls []state.Call) error {
		if key := keyOf(e.Code); key != "" {
			if _, twice := k.executions[key]; twice {
				t.Errorf("%s was executed twice", key)
			}
			k.executions[key], k.calls[key] = e, calls
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := record.Verify(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	k.flaws = v.Flaws
}

// readRuns reads the journals, which keep the latest 200.
func (k *keptRows) readRuns(t *testing.T) {
	t.Helper()
	runs := k.db.Runs()
	defer runs.Close()
	list, err := runs.Runs(t.Context(), state.MaxRuns)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		run, calls, err := runs.Run(t.Context(), r.ID)
		if errors.Is(err, state.ErrNotFound) {
			continue // there are newer ones
		}
		if err != nil {
			t.Fatal(err)
		}
		k.runs[keyOf(run.Code)] = calls
	}
}

// check compares what clients were answered, what the counter has seen and what the
// database has.
func (l *load) check(k *keptRows) {
	t := l.t
	t.Helper()
	k.read(t)
	if len(k.flaws) > 0 {
		t.Errorf("the record: %+v", k.flaws)
	}
	for key, n := range l.counter.writes {
		if n != 1 {
			t.Errorf("%s was written %d times", key, n)
		}
	}
	for key, answer := range l.answered {
		if e := k.executions[key]; e.Status != state.StatusDone || len(k.calls[key]) != 3 || l.counter.count(key+"-1")+l.counter.count(key+"-2") != 2 {
			t.Errorf("%s was answered %s, and the record has it as %q with %d calls", key, answer, e.Status, len(k.calls[key]))
		}
	}
	ends := map[string]int{}
	lost := 0
	for key, why := range l.failed {
		e, begun := k.executions[key]
		writes := l.counter.count(key+"-1") + l.counter.count(key+"-2")
		for _, c := range k.calls[key] {
			if c.Tool == "write" && c.Status == state.CallOK {
				writes--
			}
		}
		for _, c := range k.runs[key] {
			if c.Lost() {
				lost++
			}
		}
		// A write of which the record has no end was about to be sent in the journal.
		intents := slices.DeleteFunc(k.runs[key], func(c state.RunCall) bool { return !c.Changes() || c.State == state.RunMade })
		if writes > 0 && len(intents) < writes {
			t.Errorf("%s failed (%v) with %d writes of which nothing is known, %q, %+v", key, why, writes, e.Status, k.runs[key])
		}
		switch {
		case !begun:
			e.Status = "not begun"
		case e.Status == state.StatusRunning:
			t.Errorf("%s failed (%v), and is running for ever", key, why)
		}
		ends[e.Status]++
	}
	t.Logf("%d answered, all with their calls in the record; %d failed, in the record: %v; %d calls whose outcome is unknown", len(l.answered), len(l.failed), ends, lost)
	for _, why := range slices.Sorted(maps.Keys(l.reasons())) {
		t.Logf("%d× %s", l.reasons()[why], why)
	}
}

// reasons are what failed requests were answered.
func (l *load) reasons() map[string]int {
	n := map[string]int{}
	for _, err := range l.failed {
		text, _, _ := strings.Cut(err.Error(), "\n")
		n[text[:min(len(text), 110)]]++
	}
	return n
}

// middle is the median of times, and the longest.
func middle(took []time.Duration) (p50, most time.Duration) {
	if len(took) == 0 {
		return 0, 0
	}
	slices.Sort(took)
	return took[len(took)/2].Round(10 * time.Microsecond), took[len(took)-1].Round(10 * time.Microsecond)
}
