package telemetry

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// ServeHTTP serves /metrics in the text format of Prometheus. No label contains names of tools.
func (t *Telemetry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" || t.page == nil {
		http.Error(w, "metrics are at /metrics", http.StatusNotFound)
		return
	}
	var all metricdata.ResourceMetrics
	if err := t.page.Collect(r.Context(), &all); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var b bytes.Buffer
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			if strings.HasPrefix(m.Name, "broker_") {
				writeMetric(&b, m)
			}
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

func writeMetric(b *bytes.Buffer, m metricdata.Metrics) {
	head := func(kind string) { fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", m.Name, m.Description, m.Name, kind) }
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		head("counter")
		for _, p := range data.DataPoints {
			fmt.Fprintf(b, "%s%s %d\n", m.Name, labels(p.Attributes), p.Value)
		}
	case metricdata.Gauge[float64]:
		head("gauge")
		for _, p := range data.DataPoints {
			fmt.Fprintf(b, "%s%s %s\n", m.Name, labels(p.Attributes), decimal(p.Value))
		}
	case metricdata.Histogram[float64]:
		head("histogram")
		for _, p := range data.DataPoints {
			sum := uint64(0)
			for i, n := range p.BucketCounts {
				sum += n
				bound := "+Inf"
				if i < len(p.Bounds) {
					bound = decimal(p.Bounds[i])
				}
				fmt.Fprintf(b, "%s_bucket%s %d\n", m.Name, labels(p.Attributes, attribute.String("le", bound)), sum)
			}
			fmt.Fprintf(b, "%s_sum%s %s\n%s_count%s %d\n", m.Name, labels(p.Attributes), decimal(p.Sum), m.Name, labels(p.Attributes), p.Count)
		}
	}
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labels formats attributes as {a="b",c="d"}.
func labels(set attribute.Set, more ...attribute.KeyValue) string {
	var list []string
	for _, kv := range slices.Concat(set.ToSlice(), more) {
		list = append(list, fmt.Sprintf(`%s="%s"`, kv.Key, escape.Replace(strings.ToValidUTF8(kv.Value.String(), "?"))))
	}
	if len(list) == 0 {
		return ""
	}
	return "{" + strings.Join(list, ",") + "}"
}
