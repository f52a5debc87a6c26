package scan_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpbroker/mcpbroker/policy/scan"
)

// BenchmarkCatalog scans the recorded catalogues, each time as if for the first
// time, and reads their JSON for comparison.
func BenchmarkCatalog(b *testing.B) {
	tools, _ := catalog(b)
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			for _, t := range tools {
				var v any
				if err := json.Unmarshal(t.definition, &v); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("scan", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var others scan.Others
			for _, t := range tools {
				others.Add(t.server, t.name, t.description)
			}
			for _, t := range tools {
				scan.Tool(t.server, t.definition, &others)
			}
		}
		b.ReportMetric(float64(len(tools)), "tools")
	})
}
