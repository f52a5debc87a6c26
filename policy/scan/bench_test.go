package scan_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/policy/scan"
)

// BenchmarkCatalog scans the recorded catalogues.
func BenchmarkCatalog(b *testing.B) {
	tools, others := catalog(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, t := range tools {
			scan.Tool(t.server, t.definition, others)
		}
	}
	b.ReportMetric(float64(len(tools)), "tools")
}
