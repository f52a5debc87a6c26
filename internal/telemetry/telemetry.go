// Package telemetry exports what the broker does: traces and metrics of OpenTelemetry over OTLP,
// metrics for Prometheus, and the audit record as OTLP logs.
package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// Options configure the export. The zero value exports nothing.
type Options struct {
	// Endpoint is a collector that speaks OTLP over HTTP, such as
	// http://localhost:4318; nil sends nothing. Headers go with each request.
	Endpoint *url.URL
	Headers  map[string]string
	// Spans and Reader replace Endpoint in tests; they may be nil.
	Spans  sdktrace.SpanExporter
	Reader sdkmetric.Reader
	// Page enables ServeHTTP.
	Page bool
	// Baggage are the keys of a client's baggage that are passed on to servers.
	Baggage []string
	// Version is the broker's version.
	Version string
	// Gauges returns measurements on request; it may be nil. Their names begin with
	// "broker_".
	Gauges func(ctx context.Context) []Gauge
	// Logger receives failures to send; nil discards.
	Logger *slog.Logger
}

// A Gauge is a current value. Label and Of may be empty.
type Gauge struct {
	Name, Label, Of string
	Value           float64
}

// A Telemetry exports traces and metrics. It is safe for concurrent use. It must be closed.
type Telemetry struct {
	tracer   trace.Tracer
	sessions sync.Map                 // by session of a client: a function that ends its measurement
	traces   *sdktrace.TracerProvider // may be nil
	meters   *sdkmetric.MeterProvider
	page     *sdkmetric.ManualReader // may be nil
	baggage  map[string]bool

	served, called           metric.Float64Histogram // names of the conventions
	clients, servers         metric.Float64Histogram // likewise, of sessions
	calls, decisions, runs   metric.Int64Counter
	redactions               metric.Int64Counter
	replayed, unknown        metric.Int64Counter
	quotas                   metric.Int64Counter
	callSeconds, waitSeconds metric.Float64Histogram
}

// gauges are the names and descriptions of the gauges of Options.Gauges.
var gauges = map[string]string{
	"broker_approvals_pending":  "Runs that wait for a person.",
	"broker_executions":         "Executions that run.",
	"broker_executions_waiting": "Executions that wait for a place.",
	"broker_pins":               "Tools by the state of their pin.",
	"broker_audit_lag_rows":     "Rows of the audit record that are not committed yet.",
	"broker_audit_spool_rows":   "Rows of the audit record that wait on the broker's disk for the database.",
	"broker_audit_spool_bytes":  "Bytes of them.",
	"broker_upstream_up":        "Whether a server is connected: 1 or 0.",
}

// New returns nil if o exports nothing, so that a broker without telemetry only compares with nil.
func New(o Options) (*Telemetry, error) {
	if o.Endpoint == nil && o.Spans == nil && o.Reader == nil && !o.Page {
		return nil, nil
	}
	t := &Telemetry{baggage: make(map[string]bool), tracer: tracenoop.NewTracerProvider().Tracer(scope)}
	for _, k := range o.Baggage {
		t.baggage[k] = true
	}
	about := resource.NewSchemaless(attribute.String("service.name", "broker"), attribute.String("service.version", o.Version))
	var readers []sdkmetric.Option
	if o.Endpoint != nil {
		c := newCollector(o)
		o.Spans, o.Reader = c, sdkmetric.NewPeriodicReader(measured{c}, sdkmetric.WithInterval(time.Minute))
	}
	if o.Spans != nil {
		t.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(o.Spans, sdktrace.WithBatchTimeout(2*time.Second)), sdktrace.WithResource(about))
		t.tracer = t.traces.Tracer(scope)
	}
	if o.Reader != nil {
		readers = append(readers, sdkmetric.WithReader(o.Reader))
	}
	if o.Page {
		t.page = sdkmetric.NewManualReader()
		readers = append(readers, sdkmetric.WithReader(t.page))
	}
	var meter metric.Meter = noop.Meter{}
	if len(readers) > 0 {
		t.meters = sdkmetric.NewMeterProvider(append(readers, sdkmetric.WithResource(about))...)
		meter = t.meters.Meter(scope)
	}
	return t, t.measure(meter, o.Gauges)
}

// seconds are the histogram buckets of durations.
var seconds = metric.WithExplicitBucketBoundaries(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)

func (t *Telemetry) measure(m metric.Meter, now func(context.Context) []Gauge) error {
	var errs []error
	counter := func(name, text string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithDescription(text))
		errs = append(errs, err)
		return c
	}
	times := func(name, text string) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text), seconds)
		errs = append(errs, err)
		return h
	}
	t.served = times(serverDuration, "Requests of clients.")
	t.called = times(clientDuration, "Requests to servers.")
	t.clients = times(serverSession, "Sessions of clients.")
	t.servers = times(clientSession, "Sessions with servers.")
	t.calls = counter("broker_calls_total", "Calls of tools, by server, class of the tool and how they ended.")
	t.callSeconds = times("broker_call_seconds", "How long calls of tools took.")
	t.decisions = counter("broker_decisions_total", "Decisions of the policy about calls.")
	t.runs = counter("broker_runs_total", "Executions by their exit code.")
	t.replayed = counter("broker_replayed_calls_total", "Calls that were answered from the journal.")
	t.unknown = counter("broker_unknown_outcomes", "Calls that were sent and whose outcome is unknown.")
	t.quotas = counter("broker_quota_refusals_total", "Calls and executions that a quota has refused: it was spent, or unknown.")
	t.redactions = counter("broker_redactions_total", "Secrets and personal data that were kept from models, by what they are.")
	t.waitSeconds = times("broker_approval_wait_seconds", "How long people took to decide at the client.")
	if now == nil {
		return errors.Join(errs...)
	}
	all := make(map[string]metric.Float64ObservableGauge)
	var list []metric.Observable
	for name, text := range gauges {
		g, err := m.Float64ObservableGauge(name, metric.WithDescription(text))
		errs = append(errs, err)
		all[name], list = g, append(list, g)
	}
	_, err := m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		for _, g := range now(ctx) {
			var of []attribute.KeyValue
			if g.Label != "" {
				of = append(of, attribute.String(g.Label, g.Of))
			}
			o.ObserveFloat64(all[g.Name], g.Value, metric.WithAttributes(of...))
		}
		return nil
	}, list...)
	return errors.Join(append(errs, err)...)
}

// closeTime bounds the last requests to a collector.
const closeTime = time.Second

// Close sends the remaining data, for at most a second. A nil t is fine.
func (t *Telemetry) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	t.sessions.Range(func(s, end any) bool { end.(func(error))(nil); return true }) // they end with the broker
	var errs []error
	if t.traces != nil {
		errs = append(errs, t.traces.Shutdown(ctx))
	}
	if t.meters != nil {
		errs = append(errs, t.meters.Shutdown(ctx))
	}
	return errors.Join(errs...)
}
