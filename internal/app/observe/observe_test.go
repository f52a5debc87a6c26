package observe

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/state"
)

// On a loopback address only names of this machine are answered: a page in a browser
// can make its own name lead here.
func TestOwnHost(t *testing.T) {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for _, tt := range []struct {
		listens, host string
		want          int
	}{
		{"127.0.0.1", "127.0.0.1:9464", 200},
		{"127.0.0.1", "localhost:9464", 200},
		{"::1", "[::1]:9464", 200},
		{"127.0.0.1", "evil.example:9464", 403},
		{"127.0.0.1", "localhost.evil.example", 403},
		{"10.0.0.5", "metrics.example", 200},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Host = tt.host
		OwnHost(&net.TCPAddr{IP: net.ParseIP(tt.listens), Port: 9464}, next).ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("on %s, host %s: %d, want %d", tt.listens, tt.host, w.Code, tt.want)
		}
	}
}

// The config comes before the environment, which may turn everything off. What is no
// address of a collector is refused.
func TestEndpoints(t *testing.T) {
	for _, tt := range []struct {
		name, endpoint string
		env            map[string]string
		page           bool
		on             bool
		wrong          string
	}{
		{name: "nothing"},
		{name: "a page", page: true, on: true},
		{name: "config", endpoint: "http://127.0.0.1:1", on: true},
		{name: "environment", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://127.0.0.1:1"}, on: true},
		{name: "the config wins", endpoint: "http://127.0.0.1:1", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "grpc://h"}, on: true},
		{name: "off", endpoint: "http://127.0.0.1:1", env: map[string]string{"OTEL_SDK_DISABLED": "True"}},
		{name: "off, with a page", page: true, endpoint: "bad", env: map[string]string{"OTEL_SDK_DISABLED": "true"}, on: true},
		{name: "another scheme", endpoint: "grpc://127.0.0.1:1", wrong: "grpc://127.0.0.1:1"},
		{name: "no host", endpoint: "http://", wrong: "http://"},
		{name: "a host alone", env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:4318"}, wrong: "127.0.0.1:4318"},
	} {
		seen, err := New(Options{Config: config.Telemetry{Endpoint: tt.endpoint}, Page: tt.page, Getenv: func(name string) string { return tt.env[name] },
			Sources: func() *Sources { return nil }})
		if wrong, ok := errors.AsType[*EndpointError](err); ok != (tt.wrong != "") || ok && wrong.Address != tt.wrong || !ok && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if (seen != nil) != tt.on {
			t.Errorf("%s: on is %t", tt.name, seen != nil)
		}
	}
}

func TestHeaders(t *testing.T) {
	for list, want := range map[string]map[string]string{
		"":                     {},
		"a=1":                  {"a": "1"},
		" a = 1 ,b=x%3Dy%20z,": {"a": "1", "b": "x=y z"},
		"a=%zz,no value":       {"a": "%zz"},
	} {
		if got := headers(list); !maps.Equal(got, want) {
			t.Errorf("headers(%q) = %q, want %q", list, got, want)
		}
	}
}

// parts are all sources at once.
type parts struct{ fails bool }

func (parts) Lag() int     { return 7 }
func (parts) Running() int { return 2 }
func (parts) Waiting() int { return 1 }

func (parts) Status() []upstream.Status {
	return []upstream.Status{{Name: "a", State: upstream.StateReady}, {Name: "b", State: upstream.StateNeedsSignIn}}
}

func (parts) Listings() []discovery.Listing { return nil }

func (p parts) Runs(context.Context, int) ([]state.Run, error) {
	if p.fails {
		return nil, errors.New("away")
	}
	later, before := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	return []state.Run{{Status: state.StatusWaiting, Expires: later}, {Status: state.StatusWaiting, Expires: before}, {Status: state.StatusDone, Expires: later}}, nil
}

func (p parts) Rows([]discovery.Listing) ([]pins.Row, error) {
	if p.fails {
		return nil, errors.New("away")
	}
	return []pins.Row{{State: "changed"}, {State: "changed"}}, nil
}

// The page has the gauges of all parts, without those that cannot be read.
func TestPage(t *testing.T) {
	for _, tt := range []struct {
		name  string
		parts parts
		queue Queue
		has   []string
		hasNo []string
	}{
		{"all", parts{}, parts{}, []string{"broker_audit_lag_rows 7", "broker_audit_spool_rows 3", "broker_executions 2", "broker_executions_waiting 1", `broker_upstream_up{server="a"} 1`,
			`broker_upstream_up{server="b"} 0`, "broker_approvals_pending 1", `broker_pins{state="changed"} 2`, `broker_pins{state="approved"} 0`}, nil},
		{"no queue", parts{}, nil, []string{"broker_audit_lag_rows 7"}, []string{"broker_executions "}},
		{"the state is away", parts{fails: true}, parts{}, []string{"broker_audit_lag_rows 7", `broker_pins{state="approved"} 0`}, []string{"broker_approvals_pending"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s *Sources
			seen, err := New(Options{Page: true, Getenv: func(string) string { return "" }, Sources: func() *Sources { return s }})
			if err != nil {
				t.Fatal(err)
			}
			defer seen.Close()
			at, stop, err := Serve("127.0.0.1:0", seen)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			if _, _, err := Serve(at.String(), seen); err == nil {
				t.Error("two servers have one address")
			}
			read := func() string {
				t.Helper()
				resp, err := http.Get("http://" + at.String() + "/metrics")
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Fatalf("%s, %v: %s", resp.Status, err, text)
				}
				return string(text)
			}
			if text := read(); strings.Contains(text, "broker_audit_lag_rows") {
				t.Errorf("before there is a broker, the page has\n%s", text)
			}
			s = &Sources{Broker: tt.parts, Audit: tt.parts, Queue: tt.queue, Runs: tt.parts, Pins: tt.parts,
				Spool: func() []telemetry.Gauge { return []telemetry.Gauge{{Name: "broker_audit_spool_rows", Value: 3}} }}
			text := read()
			for _, want := range tt.has {
				if !strings.Contains(text, want) {
					t.Errorf("the page has no %s:\n%s", want, text)
				}
			}
			for _, no := range tt.hasNo {
				if strings.Contains(text, no) {
					t.Errorf("the page has %s:\n%s", no, text)
				}
			}
		})
	}
}
