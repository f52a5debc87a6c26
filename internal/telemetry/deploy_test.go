package telemetry

import (
	"context"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric"
)

// The rules and the dashboard in deploy are about metrics that /metrics has.
func TestDeployedMetrics(t *testing.T) {
	m, err := New(Options{Page: true, Gauges: func(context.Context) []Gauge {
		var list []Gauge
		for name := range gauges {
			list = append(list, Gauge{Name: name})
		}
		return list
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, c := range []interface {
		Add(context.Context, int64, ...metric.AddOption)
	}{m.calls, m.decisions, m.runs, m.redactions, m.replayed, m.unknown} {
		c.Add(t.Context(), 1)
	}
	m.callSeconds.Record(t.Context(), 1)
	m.waitSeconds.Record(t.Context(), 1)
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	served := make(map[string]bool)
	for line := range strings.Lines(w.Body.String()) {
		name, _, _ := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, "{")
		served[name] = true
	}
	metrics := regexp.MustCompile(`\bbroker_\w+`)
	for _, file := range []string{"alerts.yaml", "grafana.json"} {
		text, err := os.ReadFile("../../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		names := metrics.FindAllString(string(text), -1)
		if len(names) < 5 {
			t.Errorf("%s: found the metrics %q", file, names)
		}
		for _, name := range names {
			if !served[name] {
				t.Errorf("%s: /metrics has no %s", file, name)
			}
		}
	}
}
