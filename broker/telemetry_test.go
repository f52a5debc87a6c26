package broker_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// addTracedTools adds a tool that says in which trace it was called, and one that fails.
func addTracedTools(s *mcp.Server) {
	add := func(name string, h mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Say in which trace it is called.", InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
	}
	add("get_trace", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		m := req.Params.Meta
		text, err := json.Marshal([]any{m["traceparent"], m["tracestate"], m["baggage"]})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, err
	})
	add("get_nothing", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "there is nothing"}}}, nil
	})
}

// A collected is one span as a collector gets it.
type collected struct {
	TraceID    string `json:"traceId"`
	SpanID     string `json:"spanId"`
	Parent     string `json:"parentSpanId"`
	Name       string
	Kind       int
	Attributes []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
	Status struct{ Code int }
}

func (c collected) attribute(key string) string {
	for _, a := range c.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

// A collector is a real receiver of OTLP over HTTP, in JSON.
type collector struct {
	mu      sync.Mutex
	spans   []collected
	metrics []string // their names
	token   string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []collected }
		}
		ResourceMetrics []struct {
			ScopeMetrics []struct{ Metrics []struct{ Name string } }
		}
	}
	if err == nil {
		err = json.Unmarshal(body, &sent)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = r.Header.Get("Authorization")
	for _, r := range sent.ResourceSpans {
		for _, s := range r.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
	for _, r := range sent.ResourceMetrics {
		for _, s := range r.ScopeMetrics {
			for _, m := range s.Metrics {
				c.metrics = append(c.metrics, m.Name)
			}
		}
	}
}

func (c *collector) span(t *testing.T, kind int, name string) collected {
	t.Helper()
	for _, s := range c.spans {
		if s.Kind == kind && s.Name == name {
			return s
		}
	}
	t.Fatalf("no span %q of kind %d in %+v", name, kind, c.spans)
	return collected{}
}

func observed(t testing.TB, o telemetry.Options) (*broker.Broker, *telemetry.Telemetry) {
	t.Helper()
	tel, err := telemetry.New(o)
	if err != nil {
		t.Fatal(err)
	}
	bo := options{Settings: broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "traced"), upstreamConfig(t, "files")}}}
	if tel != nil {
		bo.Observer, bo.Observe = tel, tel.Middleware
	}
	return newBroker(t, bo.Deps, bo.Settings), tel
}

func TestOneTraceFromClientToServer(t *testing.T) {
	const (
		internal, server, client = 1, 2, 3
		trace, parent            = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	)
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			c := &collector{}
			receiver := httptest.NewServer(c)
			defer receiver.Close()
			at, err := url.Parse(receiver.URL)
			if err != nil {
				t.Fatal(err)
			}
			b, tel := observed(t, telemetry.Options{Endpoint: at, Headers: map[string]string{"Authorization": "Bearer x"}, Baggage: []string{"tenant"}})
			cs := connect(t, b, version, nil)
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{
				Name: "execute_code", Meta: mcp.Meta{"traceparent": "00-" + trace + "-" + parent + "-01", "tracestate": "a=b", "baggage": "tenant=acme,password=hunter2"},
				Arguments: map[string]any{"language": "javascript", "code": `
					const seen = await callMCPTool('traced__get_trace', {});
					try { await callMCPTool('traced__get_nothing', {}); } catch {}
					return seen`},
			})
			if err != nil || res.IsError {
				t.Fatalf("%v, %+v", err, res)
			}
			if err := tel.Close(); err != nil {
				t.Fatal(err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			asked, run := c.span(t, server, "tools/call execute_code"), c.span(t, internal, "execution")
			called, failed := c.span(t, client, "tools/call get_trace"), c.span(t, client, "tools/call get_nothing")
			if asked.Parent != parent || run.Parent != asked.SpanID || called.Parent != run.SpanID || failed.Parent != run.SpanID {
				t.Errorf("spans are not in each other: %+v", c.spans)
			}
			for _, s := range c.spans {
				if s.TraceID != trace {
					t.Errorf("%s is in trace %s", s.Name, s.TraceID)
				}
			}
			text := res.Content[0].(*mcp.TextContent).Text
			if want := `["00-` + trace + "-" + called.SpanID + `-01","a=b","tenant=acme"]`; !strings.Contains(text, want) {
				t.Errorf("the server was called with %s, want %s", text, want)
			}
			for key, want := range map[string]string{"mcp.method.name": "tools/call", "gen_ai.tool.name": "execute_code", "gen_ai.operation.name": "execute_tool", "network.transport": "pipe"} {
				if got := asked.attribute(key); got != want {
					t.Errorf("%s = %q, want %q", key, got, want)
				}
			}
			if got := failed.attribute("error.type"); got != "tool_error" || failed.Status.Code != 2 || called.Status.Code != 0 {
				t.Errorf("the call that failed has error.type %q and status %d", got, failed.Status.Code)
			}
			for _, want := range []string{"mcp.server.operation.duration", "mcp.client.operation.duration", "broker_calls_total"} {
				if !slices.Contains(c.metrics, want) {
					t.Errorf("no metric %s in %q", want, c.metrics)
				}
			}
			if c.token != "Bearer x" {
				t.Errorf("the collector got the header %q", c.token)
			}
		})
	}
}

// A collector that is gone, or slow, delays nobody and ends with the broker.
func TestCollectorThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}))
	defer receiver.Close()
	defer close(held)
	at, err := url.Parse(receiver.URL)
	if err != nil {
		t.Fatal(err)
	}
	b, tel := observed(t, telemetry.Options{Endpoint: at})
	if a := b.Execute(t.Context(), broker.ExecuteRequest{Code: "return await callMCPTool('traced__get_trace', {})", Language: "javascript"}); a.ExitCode != 0 {
		t.Errorf("%+v", a)
	}
	_ = tel.Close() // says that not all was sent, after a second
}

func TestMetricsForPrometheus(t *testing.T) {
	b, tel := observed(t, telemetry.Options{Page: true, Gauges: func(context.Context) []telemetry.Gauge {
		return []telemetry.Gauge{{Name: "broker_upstream_up", Label: "server", Of: "a \"b\"\n\\", Value: 1}, {Name: "broker_approvals_pending", Value: 2},
			{Name: "broker_pins", Label: "state", Of: "approved", Value: 3}, {Name: "broker_audit_lag_rows"}}
	}})
	defer tel.Close()
	cs := connect(t, b, "2025-06-18", nil)
	call(t, cs, "execute_code", map[string]any{"language": "javascript", "code": `
		await callMCPTool('files__read_file', { path: 'a' });
		try { await callMCPTool('files__read_file', { path: 'missing' }) } catch {}
		throw 1`})
	tel.Recorded("files", "write", "denied", "deny rule servers.json:7:5", 0)
	page := httptest.NewRecorder()
	tel.ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	all := readMetrics(t, page.Body.String())
	value := func(name string, labels ...string) (float64, metricLine) {
		t.Helper()
		for _, s := range all {
			has := 0
			for label, value := range s.labels {
				if strings.Contains(value, "read_file") {
					t.Errorf("%s names a tool: %s=%s", name, label, value)
				}
				if slices.Contains(labels, label+"="+value) {
					has++
				}
			}
			if s.name == name && has == len(labels) {
				return s.value, s
			}
		}
		t.Errorf("no %s with %q in\n%s", name, labels, page.Body)
		return 0, metricLine{}
	}
	for _, tt := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"broker_calls_total", []string{"server=files", "class=read", "status=ok"}, 1},
		{"broker_calls_total", []string{"server=files", "class=read", "status=error"}, 1},
		{"broker_decisions_total", []string{"effect=deny", "code=rule"}, 1},
		{"broker_runs_total", []string{"exit_code=1"}, 1},
		{"broker_upstream_up", []string{"server=a \"b\"\n\\"}, 1},
		{"broker_approvals_pending", nil, 2},
		{"broker_pins", []string{"state=approved"}, 3},
		{"broker_audit_lag_rows", nil, 0},
	} {
		if got, _ := value(tt.name, tt.labels...); got != tt.want {
			t.Errorf("%s%q = %g, want %g", tt.name, tt.labels, got, tt.want)
		}
	}
	calls, counted := value("broker_call_seconds_count", "server=files")
	buckets := 0
	for _, s := range all {
		if s.name == "broker_call_seconds_bucket" && without(s.labels, "le") == without(counted.labels, "le") {
			buckets++
		}
	}
	if calls != 3 || buckets < 10 {
		t.Errorf("broker_call_seconds has %g calls in %d buckets, want three in at least ten", calls, buckets)
	}
	page = httptest.NewRecorder()
	if tel.ServeHTTP(page, httptest.NewRequest("GET", "/", nil)); page.Code != http.StatusNotFound {
		t.Errorf("/ answers %d", page.Code)
	}
}

// What is off takes no trace over and passes none on.
func TestTelemetryIsOffByDefault(t *testing.T) {
	b, tel := observed(t, telemetry.Options{})
	if tel != nil {
		t.Fatal("telemetry of nothing is there")
	}
	cs := connect(t, b, "2025-06-18", nil)
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Meta: mcp.Meta{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		Arguments: map[string]any{"code": "return await callMCPTool('traced__get_trace', {})", "language": string(sandbox.JavaScript)}})
	if err != nil || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "[null,null,null]") {
		t.Errorf("%v, %+v", err, res)
	}
}
