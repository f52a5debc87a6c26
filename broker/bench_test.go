package broker_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/audit"
)

// audited is a broker with everything on that is on for users.
func audited(b *testing.B) *broker.Broker {
	b.Helper()
	store, err := audit.Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	br := newBroker(b, broker.Options{Audit: store, Servers: []upstream.Config{upstreamConfig(b, "files")}})
	br.Refresh(b.Context())
	return br
}

// percentiles reports the median and the 99th percentile of took in ms.
func percentiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	at := func(p float64) float64 { return float64(took[int(p*float64(len(took)-1))].Microseconds()) / 1000 }
	b.ReportMetric(at(.5), "p50-ms")
	b.ReportMetric(at(.99), "p99-ms")
}

// BenchmarkExecute measures a small script with its audit record. "ready"
// leaves 30 ms between two, in which a spare sandbox starts, as models do;
// "back-to-back" does not.
func BenchmarkExecute(b *testing.B) {
	for _, c := range []struct{ name, language, code string }{
		{"js", "javascript", "return 1+1"},
		{"ts", "typescript", "const n: number = 1; return n+1"},
		{"ts-import", "typescript", "import { readFile } from './servers/files'; return (await readFile({ path: 'a' })).length"},
	} {
		for _, pause := range []time.Duration{30 * time.Millisecond, 0} {
			name := c.name + "/back-to-back"
			if pause > 0 {
				name = c.name + "/ready"
			}
			b.Run(name, func(b *testing.B) {
				br := audited(b)
				var took []time.Duration
				for b.Loop() {
					<-time.After(pause)
					start := time.Now()
					a := br.Execute(b.Context(), broker.ExecuteRequest{Code: c.code, Language: c.language})
					took = append(took, time.Since(start))
					if a.ExitCode != 0 {
						b.Fatal(a.Stderr)
					}
				}
				percentiles(b, took)
			})
		}
	}
}

// BenchmarkCalls100 runs one script of a hundred calls to a server over stdio,
// and the same calls made directly with go-sdk.
func BenchmarkCalls100(b *testing.B) {
	b.Run("script", func(b *testing.B) {
		br := audited(b)
		var took []time.Duration
		for b.Loop() {
			<-time.After(30 * time.Millisecond)
			start := time.Now()
			a := br.Execute(b.Context(), broker.ExecuteRequest{Language: "javascript",
				Code: "for (let i = 0; i < 100; i++) await callMCPTool('files__read_file', { path: 'a' + i })"})
			took = append(took, time.Since(start))
			if a.ExitCode != 0 || a.ToolsCalled[0].N != 100 {
				b.Fatalf("%+v", a)
			}
		}
		percentiles(b, took)
	})
	b.Run("direct", func(b *testing.B) {
		exe, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		cs, err := client.Connect(b.Context(), &mcp.CommandTransport{Command: exec.Command(exe, "upstream", "files")},
			&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			b.Fatal(err)
		}
		defer cs.Close()
		var took []time.Duration
		for b.Loop() {
			start := time.Now()
			for i := range 100 {
				if _, err := cs.CallTool(b.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"path": fmt.Sprint("a", i)}}); err != nil {
					b.Fatal(err)
				}
			}
			took = append(took, time.Since(start))
		}
		percentiles(b, took)
	})
}
