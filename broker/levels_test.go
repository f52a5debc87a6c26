//lint:file-ignore SA1019 logging is deprecated since 2026-07-28, and clients and servers have it still

package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

// startTalker serves a tool that logs and reports progress until stop is closed.
func startTalker(t *testing.T, stop <-chan struct{}) upstream.Config {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "talker", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}, Tools: &mcp.ToolCapabilities{}}})
	s.AddTool(&mcp.Tool{Name: "talk", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for n := 1.0; ; n++ {
				if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Data: "careful"}); err != nil {
					return nil, err
				}
				if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: n, Message: "talking"}); err != nil {
					return nil, err
				}
				select {
				case <-stop:
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
				case <-tick.C:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		})
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(ts.Close)
	return upstream.Config{Name: "talker", URL: ts.URL}
}

// levels are values of "level", and whether each is one.
var levels = []struct {
	params string
	known  bool
}{
	{`{"level":"debug"}`, true}, {`{"level":"info"}`, true}, {`{"level":"notice"}`, true}, {`{"level":"warning"}`, true},
	{`{"level":"error"}`, true}, {`{"level":"critical"}`, true}, {`{"level":"alert"}`, true}, {`{"level":"emergency"}`, true},
	{`{"level":"trace"}`, false}, {`{"level":"Error"}`, false}, {`{"level":" info"}`, false}, {`{"level":""}`, false}, {`{"level":"info\u0000"}`, false},
	{`{"level":null}`, false}, {`{"level":3}`, false}, {`{"level":["info"]}`, false}, {`{"level":{}}`, false}, {`{"level":true}`, false},
	{`{}`, false}, {`null`, false}, {`"info"`, false}, {`["info"]`, false}, {`{"level":"` + strings.Repeat("x", 100_000) + `"}`, false},
}

// A client sets its level while notifications flow: each known level is accepted, all else
// is refused, calls of both clients go on, and neither gets what belongs to the other.
func TestLevelsAreSetWhileNotificationsFlow(t *testing.T) {
	stop := make(chan struct{})
	b := newBroker(t, broker.Deps{Runner: inproc.New()}, broker.Settings{Servers: []upstream.Config{startTalker(t, stop)}})
	b.Refresh(t.Context())
	clients := []*lineClient{newLineClient(t, b, surface.Peer{ID: "one"}), newLineClient(t, b, surface.Peer{ID: "two"})}
	for i, c := range clients {
		c.initialize()
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"run","method":"tools/call","params":{"name":"execute_code","arguments":{"code":"return await talker.talk({})"},"_meta":{"progressToken":"of-%d"}}}`, i))
	}
	type message struct {
		ID     string
		Method string
		Params struct{ ProgressToken, Message string }
		Error  *struct{ Code int }
	}
	flowed := make([]int, len(clients))
	read := func(i int, id string) (m message, line string) {
		t.Helper()
		for line := range clients[i].lines {
			m = message{}
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatalf("client %d is sent %.300s: %v", i, line, err)
			}
			switch {
			case m.ID == id && m.Method == "" || id == m.Method:
				return m, line
			case m.Method == "notifications/progress" && m.Params.ProgressToken == fmt.Sprint("of-", i):
				flowed[i]++
			case m.Method == "notifications/tools/list_changed", m.Method == "notifications/prompts/list_changed", m.Method == "notifications/resources/list_changed":
			default:
				t.Errorf("client %d, which waits for %s, is sent %.300s", i, id, line)
			}
		}
		t.Fatalf("the session of client %d has ended", i)
		return m, ""
	}
	for i := range clients {
		read(i, "notifications/progress")
	}
	for n, l := range levels {
		for i, c := range clients {
			id := fmt.Sprintf("level-%d-%d", n, i)
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"logging/setLevel","params":%s}`, id, l.params))
			if m, line := read(i, id); l.known != (m.Error == nil) || !l.known && m.Error.Code != -32602 && m.Error.Code != -32600 || len(line) > 400 {
				t.Errorf("client %d: %.60s is answered %.400s", i, l.params, line)
			}
		}
	}
	for i := range clients { // still
		read(i, "notifications/progress")
	}
	close(stop)
	for i := range clients {
		if _, line := read(i, "run"); !strings.Contains(line, "done") {
			t.Errorf("client %d: %.300s", i, line)
		}
	}
	t.Logf("%v notifications while the levels were set", flowed)
}
