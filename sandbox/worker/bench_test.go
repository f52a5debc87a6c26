package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// pause is how long an agent leaves between two runs, at the very least; a
// spare is warm by then.
const pause = 30 * time.Millisecond

// BenchmarkRun reports the median time of a run from the outside.
func BenchmarkRun(b *testing.B) {
	loop := func(n int) string {
		return fmt.Sprintf(`let n = 0; for (let i = 0; i < %d; i++) n += (await callMCPTool("demo__echo", {i})).i; return n`, n)
	}
	all := func(n int) string {
		return fmt.Sprintf(`return (await Promise.all(Array.from({length: %d}, (_, i) => callMCPTool("demo__echo", {i})))).length`, n)
	}
	for _, bb := range []struct {
		name     string
		language sandbox.Language
		code     string
		spares   int
		pause    time.Duration
	}{
		{"js/spare", sandbox.JavaScript, "return 1+1", 1, pause},
		{"js/back-to-back", sandbox.JavaScript, "return 1+1", 1, 0},
		{"js/cold", sandbox.JavaScript, "return 1+1", -1, 0},
		{"ts/spare", sandbox.TypeScript, "const n: number = 1; return n + 1", 1, pause},
		{"ts/back-to-back", sandbox.TypeScript, "const n: number = 1; return n + 1", 1, 0},
		{"ts/cold", sandbox.TypeScript, "const n: number = 1; return n + 1", -1, 0},
		{"ts-import/spare", sandbox.TypeScript, "import { echo } from './servers/demo'; return await echo({n: 1})", 1, pause},
		{"ts-two-of-40/spare", sandbox.TypeScript, "import { echo } from './servers/demo';\nimport { tool3 } from './servers/server7';\n" +
			"const first = await echo({ n: 1 });\nreturn [first, await tool3({ n: 2 })]", 1, pause},
		{"calls-100", sandbox.JavaScript, loop(100), 1, pause},
		{"calls-1000", sandbox.JavaScript, loop(1000), 1, pause},
		{"calls-1000-parallel", sandbox.JavaScript, all(1000), 1, pause},
	} {
		b.Run(bb.name, func(b *testing.B) {
			r := New(&Options{Spares: bb.spares})
			defer r.Close()
			req := sandbox.Request{
				Language: bb.language,
				Code:     bb.code,
				Call:     func(_ context.Context, c sandbox.Call) (json.RawMessage, error) { return c.Args, nil },
				Limits:   sandbox.Limits{Calls: 1000},
				Modules: []sandbox.Module{{
					Path:    "servers/demo",
					Source:  "import { callMCPTool } from './helpers/callMCPTool';\nexport const echo = (input) => callMCPTool('demo__echo', input);\n",
					Exports: []string{"echo"},
					Global:  "demo",
				}},
				ModuleNames: []string{"servers/demo"},
			}
			if strings.Contains(bb.name, "40") {
				addServers(&req, 39)
			}
			var took, cpu []time.Duration
			for b.Loop() {
				b.StopTimer()
				<-time.After(bb.pause)
				b.StartTimer()
				res, err := r.Run(b.Context(), req)
				if err != nil || res.ExitCode != 0 {
					b.Fatalf("%v %+v", err, res)
				}
				took, cpu = append(took, res.Duration), append(cpu, res.CPU)
			}
			b.ReportMetric(milliseconds(took, 10), "p10-ms")
			b.ReportMetric(milliseconds(took, 50), "p50-ms")
			b.ReportMetric(milliseconds(took, 99), "p99-ms")
			b.ReportMetric(milliseconds(cpu, 50), "cpu-p50-ms")
		})
	}
}

// addServers adds servers of fifty tools each.
func addServers(req *sandbox.Request, n int) {
	for i := range n {
		m := sandbox.Module{Path: fmt.Sprintf("servers/server%d", i), Source: "import { callMCPTool } from './helpers/callMCPTool';\n"}
		for j := range 50 {
			m.Source += fmt.Sprintf("export const tool%d = (input) => callMCPTool('server%d__tool%d', input);\n", j, i, j)
			m.Exports = append(m.Exports, fmt.Sprintf("tool%d", j))
		}
		req.Modules = append(req.Modules, m)
		req.ModuleNames = append(req.ModuleNames, m.Path)
	}
}

// BenchmarkFiftyAtOnce starts fifty programs, each of which computes for some
// milliseconds, and compares the longest wait of one with all of them one after
// the other: with a queue that bounds them, and all at the same time.
func BenchmarkFiftyAtOnce(b *testing.B) {
	req := sandbox.Request{Language: sandbox.JavaScript, Code: `let n = 0; for (let i = 0; i < 1e5; i++) n += i; return n`}
	for name, places := range map[string]int{"queue": 0, "no-queue": 50} {
		b.Run(name, func(b *testing.B) {
			q := sandbox.NewQueue(New(&Options{Spares: 2}), places)
			defer q.Close()
			var last, first []time.Duration
			for b.Loop() {
				took := make([]time.Duration, 50)
				var all sync.WaitGroup
				for i := range took {
					all.Go(func() {
						res, err := q.Run(b.Context(), req)
						if err != nil || res.ExitCode != 0 {
							b.Errorf("%v %+v", err, res)
						}
						took[i] = res.Duration
					})
				}
				all.Wait()
				slices.Sort(took)
				first, last = append(first, took[0]), append(last, took[49])
			}
			b.ReportMetric(milliseconds(first, 50), "first-ms")
			b.ReportMetric(milliseconds(last, 50), "last-ms")
		})
	}
}

// milliseconds returns a percentile of d.
func milliseconds(d []time.Duration, percent int) float64 {
	slices.Sort(d)
	return float64(d[len(d)*percent/100]) / float64(time.Millisecond)
}

// bare is the main of a child that contains itself by nothing.
func init() {
	children["bare"] = func() { serve(func(int64) ([]sandbox.Layer, error) { return nil, nil }) }
}

// BenchmarkProcess is a child that is started and ended without a program:
// contained, and as the baseline one that is not. They take turns, so that both
// see the same machine.
func BenchmarkProcess(b *testing.B) {
	hello := wire.Hello{Version: wire.Version, MemoryBytes: sandbox.Limits{}.WithDefaults().MemoryBytes}
	took := make(map[string][]time.Duration)
	for b.Loop() {
		for name, opts := range map[string]*Options{"contained": {}, "bare": {Args: []string{"bare"}}} {
			start := time.Now()
			p, err := startProcess(b.Context(), opts, hello)
			if err != nil {
				b.Fatal(err)
			}
			p.end()
			took[name] = append(took[name], time.Since(start))
		}
	}
	contained, bare := milliseconds(took["contained"], 50), milliseconds(took["bare"], 50)
	b.ReportMetric(contained, "contained-p50-ms")
	b.ReportMetric(bare, "bare-p50-ms")
	b.ReportMetric(contained/bare, "ratio")
}

// BenchmarkContainment compares whole runs in contained and in bare processes,
// which take turns.
func BenchmarkContainment(b *testing.B) {
	loop := `for (let i = 0; i < 1000; i++) await callMCPTool("demo__echo", {i})`
	all := `await Promise.all(Array.from({length: 1000}, (_, i) => callMCPTool("demo__echo", {i})))`
	for _, bb := range []struct {
		name, code string
		spares     int
	}{
		{"js/spare", "return 1+1", 1}, {"js/cold", "return 1+1", -1}, {"calls-1000", loop, 1}, {"calls-1000-parallel", all, 1},
	} {
		b.Run(bb.name, func(b *testing.B) {
			runners := map[string]sandbox.Runner{"contained": New(&Options{Spares: bb.spares}), "bare": New(&Options{Spares: bb.spares, Args: []string{"bare"}})}
			took := make(map[string][]time.Duration)
			for b.Loop() {
				for name, r := range runners {
					<-time.After(pause)
					res, err := r.Run(b.Context(), sandbox.Request{
						Language: sandbox.JavaScript, Code: bb.code, Limits: sandbox.Limits{Calls: 1000},
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
			contained, bare := milliseconds(took["contained"], 50), milliseconds(took["bare"], 50)
			b.ReportMetric(contained, "contained-p50-ms")
			b.ReportMetric(bare, "bare-p50-ms")
			b.ReportMetric(contained/bare, "ratio")
		})
	}
}
