// Package peers tests what the broker says to programs of others with code of
// others: what only such a test needs is in no other module.
package peers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/mcpbroker/mcpbroker/internal/fakes3"
	"github.com/mcpbroker/mcpbroker/internal/telemetry"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/s3"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

// The client of objects gets the same answers from gofakes3 as from the fake that
// the tests of the broker use.
func TestObjects(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("results"); err != nil {
		t.Fatal(err)
	}
	for name, server := range map[string]http.Handler{"gofakes3": gofakes3.New(backend).Server(), "fakes3": fakes3.New("results")} {
		t.Run(name, func(t *testing.T) {
			ts := httptest.NewServer(server)
			defer ts.Close()
			client := func(bucket string) state.Objects {
				o, err := s3.Parse("s3://"+bucket+"/some%20prefix/%25+é?accessKey=id&secretKey=secret&endpoint="+ts.URL,
					func(s string) (string, error) { return s, nil }, func(string) (string, bool) { return "", false })
				if err != nil {
					t.Fatal(err)
				}
				return s3.New(o)
			}
			statetest.Objects{Open: func(testing.TB) state.Objects { return client("results") }}.Run(t)
			o := client("nothing")
			_, err := o.Get(t.Context(), "a")
			for _, err := range []error{err, o.Put(t.Context(), "a", nil), o.Delete(t.Context(), "a")} {
				if err == nil || !strings.Contains(err.Error(), "NoSuchBucket") {
					t.Errorf("without a bucket: %v", err)
				}
			}
		})
	}
}

// Prometheus reads the page of metrics.
func TestMetrics(t *testing.T) {
	tel, err := telemetry.New(telemetry.Options{Page: true, Gauges: func(context.Context) []telemetry.Gauge {
		return []telemetry.Gauge{{Name: "broker_upstream_up", Label: "server", Of: "a \"b\"\n\\", Value: 1}, {Name: "broker_audit_lag_rows"}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer tel.Close()
	tel.Recorded("files", "write", "denied", "deny rule servers.json:7:5", 0)
	tel.Recorded("files", "read", "ok", "", 1)
	page := httptest.NewRecorder()
	tel.ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page.Body.String()))
	if err != nil {
		t.Fatalf("%v:\n%s", err, page.Body)
	}
	up := families["broker_upstream_up"].GetMetric()
	if len(up) != 1 || up[0].GetLabel()[0].GetValue() != "a \"b\"\n\\" || up[0].GetGauge().GetValue() != 1 {
		t.Errorf("broker_upstream_up = %v", up)
	}
	if calls := families["broker_calls_total"].GetMetric(); len(calls) != 2 {
		t.Errorf("broker_calls_total = %v in\n%s", calls, page.Body)
	}
	for _, h := range families["broker_call_seconds"].GetMetric() {
		if h.GetHistogram().GetSampleCount() == 0 || len(h.GetHistogram().GetBucket()) < 10 {
			t.Errorf("broker_call_seconds = %v", h)
		}
	}
}
