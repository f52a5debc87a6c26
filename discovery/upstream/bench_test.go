package upstream

import (
	"encoding/json"
	"os/exec"
	"sync"
	"testing"

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
