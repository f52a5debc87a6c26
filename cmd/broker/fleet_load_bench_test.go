package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkFleetThroughput compares one broker behind nginx with two on the same
// processors: executions of TypeScript that call a tool, by eight clients, in turns of
// three seconds.
func BenchmarkFleetThroughput(b *testing.B) {
	c, program := startCounter(b), benchBroker(b)
	fleets := map[int]*fleet{}
	for _, n := range []int{1, 2} {
		fleets[n] = startFleetWith(b, n, faultsConfig(b, map[string]string{"counter": c.url}, map[string]any{}), fleetOptions{broker: program})
	}
	turn := func(url string) float64 {
		ctx, cancel := context.WithTimeout(b.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		var done atomic.Int64
		var clients sync.WaitGroup
		for range 8 {
			one := newCaller(b, url, modern)
			clients.Go(func() {
				for {
					if _, err := one.run(ctx, `const key: string = "k"; return await counter.read({key})`); err == nil {
						done.Add(1)
					} else if ctx.Err() != nil {
						return
					} else {
						b.Error(err)
						return
					}
				}
			})
		}
		clients.Wait()
		return float64(done.Load()) / time.Since(began).Seconds()
	}
	for _, f := range fleets {
		turn(f.url) // for processes that wait, and connections
	}
	sum := map[int]float64{}
	for b.Loop() {
		for _, n := range []int{1, 2} {
			sum[n] += turn(fleets[n].url)
		}
	}
	b.ReportMetric(sum[1]/float64(b.N), "one/s")
	b.ReportMetric(sum[2]/float64(b.N), "two/s")
	b.ReportMetric(100*sum[2]/sum[1], "%of-one")
}

// BenchmarkFleetCall compares a call of a script at a broker that keeps its state in
// files with one that keeps it in a database, by turns.
func BenchmarkFleetCall(b *testing.B) {
	c, program := startCounter(b), benchBroker(b)
	servers := map[string]string{"counter": c.url}
	alone, end := startHTTP(b, exec.Command(program, "serve", "--http", "127.0.0.1:0", "--config", faultsConfig(b, servers, map[string]any{}), "--state-dir", b.TempDir()))
	b.Cleanup(end)
	f := startFleetWith(b, 1, faultsConfig(b, servers, map[string]any{}), fleetOptions{broker: program})
	for _, tool := range []string{"read", "write"} {
		b.Run(tool, func(b *testing.B) {
			took := map[string][]time.Duration{}
			for b.Loop() {
				for name, url := range map[string]string{"files": alone, "database": "http://" + f.replicas[0].addr + "/mcp"} {
					const calls = 40
					answer, err := newCaller(b, url, modern).run(b.Context(), fmt.Sprintf(`for (let i = 0; i < %d; i++) await counter.%s({key: "b"})`, calls, tool))
					var a struct {
						MS float64 `json:"duration_ms"`
					}
					if err == nil {
						err = json.Unmarshal([]byte(strings.TrimSpace(answer)), &a)
					}
					if err != nil {
						b.Fatal(err)
					}
					took[name] = append(took[name], time.Duration(a.MS*float64(time.Millisecond)/calls))
				}
			}
			for name, took := range took {
				reportAs(b, name, took)
			}
		})
	}
}
