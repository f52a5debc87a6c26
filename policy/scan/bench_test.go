package scan_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/catalogues"
	"github.com/mcpbroker/mcpbroker/policy/scan"
)

// BenchmarkCatalog scans 1,218 tools each time as if for the first time: those of
// the recorded catalogues, and as many of the retrieval corpus as are missing, in
// its order. Each scan is compared with reading the same JSON just before it: the
// median of both, and of their ratio, means something on a busy machine too.
func BenchmarkCatalog(b *testing.B) {
	recorded, _ := catalog(b)
	tools := append(recorded, retrieval(b)...)[:1218]
	var decoded, scanned, ratio []float64
	b.ReportAllocs()
	for b.Loop() {
		runtime.GC() // what one leaves is not for the other to clear
		start := time.Now()
		for _, t := range tools {
			var v any
			if err := json.Unmarshal(t.definition, &v); err != nil {
				b.Fatal(err)
			}
		}
		read := time.Since(start)
		runtime.GC()
		start = time.Now()
		var others scan.Others
		for _, t := range tools {
			others.Add(t.server, t.name, t.description)
		}
		for _, t := range tools {
			scan.Tool(t.server, t.definition, &others)
		}
		took := time.Since(start)
		decoded = append(decoded, read.Seconds()*1e3)
		scanned = append(scanned, took.Seconds()*1e3)
		ratio = append(ratio, float64(took)/float64(read))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(decoded), "decode-ms")
	b.ReportMetric(median(scanned), "scan-ms")
	b.ReportMetric(median(ratio), "scan/decode")
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// retrieval are the tools of the retrieval corpus.
func retrieval(b *testing.B) []listed {
	data, err := os.ReadFile(filepath.Join(catalogues.Recorded("retrieval"), "tools.jsonl"))
	if err != nil {
		b.Skip("a measurement: BROKER_RECORDED names no folder with the retrieval corpus")
	}
	var list []listed
	for line := range bytes.Lines(data) {
		var t struct{ Server, Name, Description string }
		if err := json.Unmarshal(line, &t); err != nil {
			b.Fatal(err)
		}
		list = append(list, listed{t.Server, t.Name, t.Description, line})
	}
	return list
}
