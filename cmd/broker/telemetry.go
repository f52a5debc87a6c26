package main

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/state"
)

// telemetry is what the config, the flags and the environment ask for; nil if that is
// nothing. s is what its gauges are about.
func (a *app) telemetry(cfg *config.Config, s *session) (*telemetry.Telemetry, error) {
	a.metrics = cmp.Or(a.metrics, cfg.Broker.Metrics)
	o := telemetry.Options{Page: a.metrics != "", Baggage: cfg.Broker.Telemetry.Baggage, Version: version, Logger: a.logger()}
	address := cmp.Or(cfg.Broker.Telemetry.Endpoint, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"))
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		address = ""
	}
	if address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, usage("the OpenTelemetry endpoint %q is not the address of a collector\nhint: such as http://localhost:4318, where it speaks OTLP over HTTP", address)
		}
		o.Endpoint, o.Headers = u, make(map[string]string)
		for pair := range strings.SplitSeq(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
			if k, v, ok := strings.Cut(pair, "="); ok {
				if plain, err := url.PathUnescape(v); err == nil {
					v = plain
				}
				o.Headers[strings.TrimSpace(k)] = strings.TrimSpace(v)
			}
		}
	}
	if o.Page || o.Endpoint != nil {
		o.Gauges = func(ctx context.Context) []telemetry.Gauge { return a.gauges(ctx, s) }
	}
	return telemetry.New(o)
}

// gauges are what the parts of a session say of themselves.
func (a *app) gauges(ctx context.Context, s *session) []telemetry.Gauge {
	if s.root == nil {
		return nil
	}
	list := []telemetry.Gauge{{Name: "broker_audit_lag_rows", Value: float64(s.audit.Lag())}}
	list = append(list, s.store.SpoolGauges(s.audit)...)
	if q, ok := s.runner.(interface{ Running() int }); ok {
		list = append(list, telemetry.Gauge{Name: "broker_executions", Value: float64(q.Running())})
	}
	if q, ok := s.runner.(interface{ Waiting() int }); ok {
		list = append(list, telemetry.Gauge{Name: "broker_executions_waiting", Value: float64(q.Waiting())})
	}
	for _, st := range s.root.Status() {
		up := 0.0
		if st.State == upstream.StateReady {
			up = 1
		}
		list = append(list, telemetry.Gauge{Name: "broker_upstream_up", Label: "server", Of: st.Name, Value: up})
	}
	if runs, err := s.runs.Runs(ctx, -1); err == nil {
		waiting := 0.0
		for _, r := range runs {
			if r.Status == state.StatusWaiting && time.Now().Before(r.Expires) {
				waiting++
			}
		}
		list = append(list, telemetry.Gauge{Name: "broker_approvals_pending", Value: waiting})
	}
	byState := map[string]float64{pins.Approved: 0}
	if rows, err := s.pins.Rows(s.root.Listings()); err == nil {
		for _, r := range rows {
			byState[r.State]++
		}
	}
	for of, n := range byState {
		list = append(list, telemetry.Gauge{Name: "broker_pins", Label: "state", Of: of, Value: n})
	}
	return list
}

// serveMetrics answers Prometheus until stop is called. If another broker uses the
// address, it does nothing.
func (a *app) serveMetrics(s *session) (stop func()) {
	if a.metrics == "" {
		return func() {}
	}
	l, err := net.Listen("tcp", a.metrics)
	if err != nil {
		say(a.stderr, "broker: no metrics: %v\n", err)
		return func() {}
	}
	say(a.stderr, "broker: metrics at http://%s/metrics\n", l.Addr())
	server := &http.Server{Handler: ownHost(l.Addr(), s.telemetry), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second}
	go func() { _ = server.Serve(l) }() // ends with Close
	return func() { _ = server.Close() }
}

// ownHost refuses, on a loopback address, what a page in a browser asks under a name
// of its own.
func ownHost(addr net.Addr, next http.Handler) http.Handler {
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
