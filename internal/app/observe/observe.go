// Package observe reports what a broker does: it sets up the telemetry that a config and
// the environment ask for, reads its gauges and serves the page for Prometheus.
package observe

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/state"
)

// Options says what is reported.
type Options struct {
	Config config.Telemetry
	// Page collects the metrics of the page for Prometheus.
	Page bool
	// Getenv reads the environment, which has the variables of OpenTelemetry.
	Getenv func(name string) string
	// Sources returns what the gauges are about; nil while there is nothing yet.
	Sources func() *Sources
	Version string
	Logger  *slog.Logger
}

// An EndpointError is an address at which no collector can be.
type EndpointError struct{ Address string }

// Error names the address.
func (e *EndpointError) Error() string {
	return fmt.Sprintf("the OpenTelemetry endpoint %q is not the address of a collector", e.Address)
}

// New returns the telemetry that is asked for; nil if that is none.
func New(o Options) (*telemetry.Telemetry, error) {
	t := telemetry.Options{Page: o.Page, Baggage: o.Config.Baggage, Version: o.Version, Logger: o.Logger}
	address := cmp.Or(o.Config.Endpoint, o.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if strings.EqualFold(o.Getenv("OTEL_SDK_DISABLED"), "true") {
		address = ""
	}
	if address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, &EndpointError{address}
		}
		t.Endpoint, t.Headers = u, headers(o.Getenv("OTEL_EXPORTER_OTLP_HEADERS"))
	}
	if t.Page || t.Endpoint != nil {
		t.Gauges = func(ctx context.Context) []telemetry.Gauge {
			if s := o.Sources(); s != nil {
				return s.gauges(ctx)
			}
			return nil
		}
	}
	return telemetry.New(t)
}

// headers parses a list such as "a=1,b=2", whose values are escaped as in URLs.
func headers(list string) map[string]string {
	all := make(map[string]string)
	for pair := range strings.SplitSeq(list, ",") {
		if k, v, ok := strings.Cut(pair, "="); ok {
			if plain, err := url.PathUnescape(v); err == nil {
				v = plain
			}
			all[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return all
}

// A Queue counts the executions that run and wait.
type Queue interface {
	Running() int
	Waiting() int
}

// Sources are what gauges are about.
type Sources struct {
	Broker interface {
		Status() []upstream.Status
		Listings() []discovery.Listing
	}
	// Audit is the record, and Spool the gauges of what waits for a database.
	Audit interface{ Lag() int }
	Spool func() []telemetry.Gauge
	Queue Queue // may be nil
	Runs  interface {
		Runs(ctx context.Context, limit int) ([]state.Run, error)
	}
	Pins interface {
		Rows([]discovery.Listing) ([]pins.Row, error)
	}
}

// gauges reads them all.
func (s *Sources) gauges(ctx context.Context) []telemetry.Gauge {
	list := []telemetry.Gauge{{Name: "broker_audit_lag_rows", Value: float64(s.Audit.Lag())}}
	list = append(list, s.Spool()...)
	if s.Queue != nil {
		list = append(list, telemetry.Gauge{Name: "broker_executions", Value: float64(s.Queue.Running())},
			telemetry.Gauge{Name: "broker_executions_waiting", Value: float64(s.Queue.Waiting())})
	}
	for _, st := range s.Broker.Status() {
		up := 0.0
		if st.State == upstream.StateReady {
			up = 1
		}
		list = append(list, telemetry.Gauge{Name: "broker_upstream_up", Label: "server", Of: st.Name, Value: up})
	}
	if runs, err := s.Runs.Runs(ctx, -1); err == nil {
		waiting := 0.0
		for _, r := range runs {
			if r.Status == state.StatusWaiting && time.Now().Before(r.Expires) {
				waiting++
			}
		}
		list = append(list, telemetry.Gauge{Name: "broker_approvals_pending", Value: waiting})
	}
	byState := map[string]float64{pins.Approved: 0}
	if rows, err := s.Pins.Rows(s.Broker.Listings()); err == nil {
		for _, r := range rows {
			byState[r.State]++
		}
	}
	for of, n := range byState {
		list = append(list, telemetry.Gauge{Name: "broker_pins", Label: "state", Of: of, Value: n})
	}
	return list
}

// Serve serves a page at an address until stop is called, which waits for the server.
func Serve(address string, page http.Handler) (at net.Addr, stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, err
	}
	server := &http.Server{Handler: OwnHost(l.Addr(), page), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // ends with Close
	}()
	return l.Addr(), func() { _ = server.Close(); <-done }, nil
}

// OwnHost returns next for a server at a loopback address without the requests for other
// hosts: those of a page in a browser under a name of its own.
func OwnHost(addr net.Addr, next http.Handler) http.Handler {
	loopback := func(host string) bool {
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		return host == "localhost" || ip != nil && ip.IsLoopback()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if loopback(addr.String()) && !loopback(r.Host) {
			http.Error(w, "use localhost or 127.0.0.1", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
