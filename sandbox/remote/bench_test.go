package remote

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// BenchmarkRemote compares programs in a process of this machine with the same
// over a stream on loopback. They take turns, so that both see the same machine.
func BenchmarkRemote(b *testing.B) {
	loop := `for (let i = 0; i < 100; i++) await callMCPTool("demo__echo", {i})`
	for _, bb := range []struct {
		name     string
		language sandbox.Language
		code     string
		pause    time.Duration
	}{
		{"js", sandbox.JavaScript, "return 1+1", 30 * time.Millisecond},
		{"ts", sandbox.TypeScript, "const n: number = 1; return n + 1", 30 * time.Millisecond},
		{"back-to-back", sandbox.JavaScript, "return 1+1", 0},
		{"calls-100", sandbox.JavaScript, loop, 30 * time.Millisecond},
	} {
		b.Run(bb.name, func(b *testing.B) {
			ca := newAuthority(b)
			_, address := start(b, ServerOptions{Files: ca.server(b)})
			runners := map[string]sandbox.Runner{
				"local":  worker.New(nil),
				"remote": New(Options{Addresses: []string{address}, Files: ca.client(b)}),
			}
			took := make(map[string][]time.Duration)
			for b.Loop() {
				for name, r := range runners {
					<-time.After(bb.pause)
					res, err := r.Run(b.Context(), sandbox.Request{
						Language: bb.language, Code: bb.code,
						Call: func(_ context.Context, c sandbox.Call) (json.RawMessage, error) { return c.Args, nil },
					})
					if err != nil || res.ExitCode != 0 {
						b.Fatalf("%v %+v", err, res)
					}
					took[name] = append(took[name], res.Duration)
				}
			}
			for _, r := range runners {
				r.Close()
			}
			p50 := func(name string) float64 {
				slices.Sort(took[name])
				return float64(took[name][len(took[name])/2]) / float64(time.Millisecond)
			}
			b.ReportMetric(p50("local"), "local-p50-ms")
			b.ReportMetric(p50("remote"), "remote-p50-ms")
			b.ReportMetric(p50("remote")-p50("local"), "added-ms")
		})
	}
}
