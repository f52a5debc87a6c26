package broker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// audited is a broker with everything on that is on for users. A nil runner is
// the one that users have.
func audited(b *testing.B, runner sandbox.Runner, more ...upstream.Config) *broker.Broker {
	b.Helper()
	store, err := sqlite.Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	br := newBroker(b, broker.Deps{Audit: store, Runner: runner}, broker.Settings{Servers: append(more, upstreamConfig(b, "files"))})
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

// manyTools configures n servers of so many tools each.
func manyTools(b *testing.B, n, each int) (servers []upstream.Config) {
	b.Helper()
	var tools []listedTool
	for i := range each {
		tools = append(tools, listedTool{Name: fmt.Sprint("tool", i), Description: "Does a thing", InputSchema: stringParams("owner", "repo", "path")})
	}
	for i := range n {
		servers = append(servers, listing(b, fmt.Sprint("other", i), tools...))
	}
	return servers
}

// BenchmarkExecute measures a small script with its audit record. "ready"
// leaves 30 ms between two, in which a spare sandbox starts, as models do;
// "back-to-back" does not.
func BenchmarkExecute(b *testing.B) {
	for _, c := range []struct {
		name, language, code string
		others, each         int // servers, and tools of each, beside the one of files
	}{
		{"js", "javascript", "return 1+1", 0, 0},
		{"ts", "typescript", "const n: number = 1; return n+1", 0, 0},
		{"ts-import", "typescript", "import { readFile } from './servers/files'; return (await readFile({ path: 'a' })).length", 0, 0},
		{"ts-one-of-5", "typescript", "import { tool3 } from './servers/other0'; return typeof tool3", 1, 5},
		{"ts-one-of-1000", "typescript", "import { tool3 } from './servers/other0'; return typeof tool3", 1, 1000},
		{"ts-two-of-40", "typescript", "import { readFile } from './servers/files'; import { tool3 } from './servers/other7';\n" +
			"const text: string = await readFile({ path: 'a' }); return typeof tool3 === 'function' && text.length", 39, 50},
	} {
		for _, pause := range []time.Duration{30 * time.Millisecond, 0} {
			name := c.name + "/back-to-back"
			if pause > 0 {
				name = c.name + "/ready"
			}
			b.Run(name, func(b *testing.B) {
				br := audited(b, nil, manyTools(b, c.others, c.each)...)
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
		br := audited(b, nil)
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
		cs := direct(b)
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

// direct is a session of go-sdk's own with the server "files".
func direct(b *testing.B) *mcp.ClientSession {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	cs, err := client.Connect(b.Context(), &mcp.CommandTransport{Command: exec.Command(exe, "upstream", "files")}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cs.Close() })
	return cs
}

// A caller is a Runner whose program is a Go function: what remains of an
// execution without its sandbox is the way from a script's call to the server
// and back.
type caller func(ctx context.Context, call sandbox.CallFunc) error

func (f caller) Run(ctx context.Context, req sandbox.Request) (sandbox.Result, error) {
	return sandbox.Result{}, f(ctx, req.Call)
}

func (caller) Close() error { return nil }

// BenchmarkCall measures one call through the bridge, the pool and the audit
// log, by turns with the same call by go-sdk itself, so that both meet the same
// load.
func BenchmarkCall(b *testing.B) {
	cs := direct(b)
	var bridged, direct []time.Duration
	br := audited(b, caller(func(ctx context.Context, call sandbox.CallFunc) error {
		for i := 0; b.Loop(); i++ {
			path := fmt.Sprint("a", i)
			args, err := json.Marshal(map[string]string{"path": path})
			if err != nil {
				return err
			}
			start := time.Now()
			if _, err := call(ctx, sandbox.Call{Func: "call", Target: "files__read_file", Args: args}); err != nil {
				return err
			}
			bridged = append(bridged, time.Since(start))
			start = time.Now()
			if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"path": path}}); err != nil {
				return err
			}
			direct = append(direct, time.Since(start))
		}
		return nil
	}))
	if a := br.Execute(b.Context(), broker.ExecuteRequest{Code: "-", Timeout: time.Hour}); a.ExitCode != 0 {
		b.Fatalf("%+v", a)
	}
	slices.Sort(bridged)
	slices.Sort(direct)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	ours, theirs := bridged[len(bridged)/2], direct[len(direct)/2]
	b.ReportMetric(ms(ours), "p50-ms")
	b.ReportMetric(ms(theirs), "direct-p50-ms")
	b.ReportMetric(ms(ours-theirs), "added-ms")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
}
