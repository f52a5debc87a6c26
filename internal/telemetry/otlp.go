package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

// A collector accepts OTLP over HTTP in JSON. Data that it does not accept is lost, and the loss
// is logged: the broker does not wait for observers.
type collector struct {
	base    *url.URL
	headers map[string]string
	http    *outbound.Client
	log     *slog.Logger
}

func newCollector(o Options) *collector {
	c := &collector{base: o.Endpoint, headers: o.Headers, log: o.Logger,
		http: outbound.New(outbound.Options{Home: o.Endpoint, HomeOnly: true, MaxBytes: 1 << 20, Timeout: 10 * time.Second})}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	return c
}

// send posts a request of one signal, "traces" or "metrics".
func (c *collector) send(ctx context.Context, signal string, body any) {
	err := func() error {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath("v1", signal).String(), bytes.NewReader(data))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		for k, v := range c.headers {
			req.Header.Set(k, v)
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body) // to reuse the connection
		if resp.StatusCode/100 != 2 {
			return fmt.Errorf("the collector answered %s", resp.Status)
		}
		return nil
	}()
	if err != nil {
		c.log.Warn("send telemetry", "signal", signal, "err", err)
	}
}

// object is a JSON object.
type object = map[string]any

func attributes(list []attribute.KeyValue) []object {
	out := make([]object, 0, len(list))
	for _, kv := range list {
		v := object{"stringValue": kv.Value.String()}
		if kv.Value.Type() == attribute.INT64 {
			v = object{"intValue": kv.Value.String()}
		}
		out = append(out, object{"key": string(kv.Key), "value": v})
	}
	return out
}

func about(r *resource.Resource) object { return object{"attributes": attributes(r.Attributes())} }

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// ExportSpans implements sdktrace.SpanExporter. All spans have the same resource and scope.
func (c *collector) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	list := make([]object, len(spans))
	for i, s := range spans {
		o := object{
			"traceId": s.SpanContext().TraceID().String(), "spanId": s.SpanContext().SpanID().String(), "name": s.Name(), "kind": int(s.SpanKind()),
			"startTimeUnixNano": nanos(s.StartTime()), "endTimeUnixNano": nanos(s.EndTime()), "attributes": attributes(s.Attributes()),
			"flags": int(s.SpanContext().TraceFlags()),
		}
		if s.Parent().SpanID().IsValid() {
			o["parentSpanId"] = s.Parent().SpanID().String()
		}
		if state := s.SpanContext().TraceState().String(); state != "" {
			o["traceState"] = state
		}
		if s.Status().Code == 1 { // an error, which is 2 in OTLP
			o["status"] = object{"code": 2, "message": s.Status().Description}
		}
		list[i] = o
	}
	c.send(ctx, "traces", object{"resourceSpans": []object{{"resource": about(spans[0].Resource()),
		"scopeSpans": []object{{"scope": object{"name": scope}, "spans": list}}}}})
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (c *collector) Shutdown(context.Context) error { c.http.CloseIdleConnections(); return nil }

// measured is a collector as an sdkmetric.Exporter.
type measured struct{ *collector }

func (measured) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

func (measured) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (measured) ForceFlush(context.Context) error { return nil }

// Export implements sdkmetric.Exporter.
func (m measured) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	var list []object
	for _, s := range rm.ScopeMetrics {
		for _, d := range s.Metrics {
			o := object{"name": d.Name, "description": d.Description, "unit": d.Unit}
			const cumulative = 2
			switch data := d.Data.(type) {
			case metricdata.Sum[int64]:
				o["sum"] = object{"aggregationTemporality": cumulative, "isMonotonic": true, "dataPoints": points(data.DataPoints, func(p object, n int64) { p["asInt"] = strconv.FormatInt(n, 10) })}
			case metricdata.Gauge[float64]:
				o["gauge"] = object{"dataPoints": points(data.DataPoints, func(p object, n float64) { p["asDouble"] = n })}
			case metricdata.Histogram[float64]:
				o["histogram"] = object{"aggregationTemporality": cumulative, "dataPoints": histogram(data.DataPoints)}
			}
			list = append(list, o)
		}
	}
	if len(list) > 0 {
		m.send(ctx, "metrics", object{"resourceMetrics": []object{{"resource": about(rm.Resource),
			"scopeMetrics": []object{{"scope": object{"name": scope}, "metrics": list}}}}})
	}
	return nil
}

func points[N int64 | float64](list []metricdata.DataPoint[N], put func(object, N)) []object {
	out := make([]object, len(list))
	for i, p := range list {
		out[i] = object{"attributes": attributes(p.Attributes.ToSlice()), "startTimeUnixNano": nanos(p.StartTime), "timeUnixNano": nanos(p.Time)}
		put(out[i], p.Value)
	}
	return out
}

func histogram(list []metricdata.HistogramDataPoint[float64]) []object {
	out := make([]object, len(list))
	for i, p := range list {
		counts := make([]string, len(p.BucketCounts))
		for j, n := range p.BucketCounts {
			counts[j] = strconv.FormatUint(n, 10)
		}
		out[i] = object{"attributes": attributes(p.Attributes.ToSlice()), "startTimeUnixNano": nanos(p.StartTime), "timeUnixNano": nanos(p.Time),
			"count": strconv.FormatUint(p.Count, 10), "sum": p.Sum, "bucketCounts": counts, "explicitBounds": p.Bounds}
	}
	return out
}
