package upstream

import (
	"context"
	"encoding/json"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bench runs the same calls through a pool and through a bare SDK session, both
// over stdio to a process of the same program.
func bench(b *testing.B, tool, args string, parallel int) {
	run := func(b *testing.B, call func() error) {
		b.ReportAllocs()
		slots := make(chan struct{}, parallel)
		var wg sync.WaitGroup
		for b.Loop() {
			if parallel == 1 {
				if err := call(); err != nil {
					b.Fatal(err)
				}
				continue
			}
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				if err := call(); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
	b.Run("sdk", func(b *testing.B) {
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		cmd := exec.Command(fakeupstream.Command(), fakeupstream.Args(fakeupstream.Good)...)
		session, err := client.Connect(b.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer session.Close()
		run(b, func() error {
			_, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
			return err
		})
	})
	b.Run("pool", func(b *testing.B) {
		p := newPool(b, nil, fake("s", fakeupstream.Good))
		p.Refresh(b.Context())
		run(b, func() error {
			_, err := p.Call(b.Context(), "s", tool, json.RawMessage(args), nil)
			return err
		})
	})
}

func BenchmarkEcho(b *testing.B)         { bench(b, "echo", `{"message":"hello"}`, 1) }
func BenchmarkEchoParallel(b *testing.B) { bench(b, "echo", `{"message":"hello"}`, 16) }
func BenchmarkOneMegabyte(b *testing.B)  { bench(b, "big", `{"n":1000000}`, 1) }

// BenchmarkBesideAHungServer measures calls of a server by turns with another
// one idle, and hung with all its places taken by calls that never return.
func BenchmarkBesideAHungServer(b *testing.B) {
	hung := fake("hung", fakeupstream.Hangs)
	hung.CallTimeout = time.Hour
	p := newPool(b, nil, fake("good", fakeupstream.Good), hung)
	p.Refresh(b.Context())
	took := map[bool][]time.Duration{}
	for b.Loop() {
		for _, hang := range []bool{false, true} {
			ctx, cancel := context.WithCancel(b.Context())
			var wg sync.WaitGroup
			if hang {
				for range 2 * defaultMaxInFlight { // half of them wait for a place
					wg.Go(func() { _, _ = p.Call(ctx, "hung", "hang", nil, nil) })
				}
				for inFlight(p, "hung") < defaultMaxInFlight {
					runtime.Gosched()
				}
			}
			for range 20 {
				start := time.Now()
				if _, err := p.Call(b.Context(), "good", "echo", json.RawMessage(`{"message":"hello"}`), nil); err != nil {
					b.Fatal(err)
				}
				took[hang] = append(took[hang], time.Since(start))
			}
			cancel()
			wg.Wait()
		}
	}
	p50 := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2].Microseconds()) / 1000
	}
	alone, beside := p50(took[false]), p50(took[true])
	b.ReportMetric(alone, "alone-p50-ms")
	b.ReportMetric(beside, "beside-p50-ms")
	b.ReportMetric(beside/alone, "ratio")
}
