package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// BenchmarkStart measures from the start of the process until tools/list is
// answered, with 35 configured servers: thirty whose tools are cached and five
// dead ones, and 35 that all hang and of which nothing is cached. The baseline is
// the same program printing its version.
func BenchmarkStart(b *testing.B) {
	broker := filepath.Join(b.TempDir(), "broker")
	if out, err := exec.Command("go", "build", "-o", broker, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	dead := map[string]any{
		"no-command": map[string]any{"command": "no-such-program"},
		"exits":      map[string]any{"command": "false"},
		"hangs":      map[string]any{"command": "sleep", "args": []string{"60"}},
		"dead-url":   map[string]any{"url": "http://127.0.0.1:1/mcp"},
		"no-host":    map[string]any{"url": "http://no-such-host.invalid/mcp"},
	}
	cached, hung := map[string]any{}, map[string]any{}
	for i := range 35 {
		if i < 30 {
			cached[fmt.Sprintf("server-%d", i)] = map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Good)}
		}
		hung[fmt.Sprintf("server-%d", i)] = map[string]any{"command": "sleep", "args": []string{"60"}}
	}
	serve := func(servers map[string]any, index bool) func(b *testing.B) {
		return func(b *testing.B) {
			config := writeServers(b, servers)
			flags := []string{"--config", config, "--state-dir", b.TempDir()}
			if index {
				if out, err := exec.Command(broker, append([]string{"index"}, flags...)...).CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				maps.Copy(servers, dead)
				text, err := os.ReadFile(writeServers(b, servers))
				if err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(config, text, 0o600); err != nil {
					b.Fatal(err)
				}
			}
			var took []time.Duration
			for b.Loop() {
				took = append(took, startToTools(b, exec.Command(broker, append([]string{"serve"}, flags...)...)))
			}
			report(b, took)
		}
	}
	b.Run("five-dead", serve(cached, true))
	b.Run("all-hang", serve(hung, false))
	b.Run("version", func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			start := time.Now()
			if err := exec.Command(broker, "version").Run(); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		report(b, took)
	})
}

// writeServers writes a config with these servers and returns its path.
func writeServers(b *testing.B, servers map[string]any) string {
	b.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "servers.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}

// reportAs is report for one of several things that were measured.
func reportAs(b *testing.B, name string, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, name+"-p50-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, name+"-max-ms")
}

// startToTools starts the server and returns how long its tools took.
func startToTools(b *testing.B, cmd *exec.Cmd) time.Duration {
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	_, err = fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	var took time.Duration
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"id":2`) {
			took = time.Since(start)
			break
		}
	}
	if took == 0 {
		b.Fatal("tools/list was not answered")
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatalf("serve: %v", err)
	}
	return took
}

// BenchmarkIdleMemory reports what a broker with a thousand cached tools takes
// when it has answered, and the spare sandbox beside it. No server runs.
func BenchmarkIdleMemory(b *testing.B) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		b.Skip("needs /proc")
	}
	dir := b.TempDir()
	broker := filepath.Join(dir, "broker")
	if out, err := exec.Command("go", "build", "-o", broker, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	config := filepath.Join(dir, "servers.json")
	if err := os.WriteFile(config, []byte(`{"mcpServers": {"library": {"command": "library"}}}`), 0o600); err != nil {
		b.Fatal(err)
	}
	flags := []string{"--config", config, "--state-dir", filepath.Join(dir, "state")}
	if out, err := exec.Command(broker, append([]string{"index"}, flags...)...).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for b.Loop() {
		c := startClient(b, exec.Command(broker, append([]string{"serve"}, flags...)...))
		c.send(b, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_tools","arguments":{"query":"export things of kind 7"}}}`)
		if a := c.answer(b, 1); !strings.Contains(a, "export_thing_7") {
			b.Fatal(a)
		}
		c.send(b, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"return 1 + 1"}}}`)
		c.answer(b, 2)
		// By then the spare for the next script waits, and garbage is collected.
		<-time.After(2 * time.Second)
		pid := c.cmd.Process.Pid
		b.ReportMetric(memoryMB(b, pid, "Rss"), "rss-MB")
		for _, child := range descendants(b, pid) {
			b.ReportMetric(memoryMB(b, child, "Rss"), "spare-rss-MB")
			b.ReportMetric(memoryMB(b, child, "Pss"), "spare-pss-MB")
		}
		_ = c.in.Close()
		if err := c.cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}

// memoryMB reads one line of a process's memory summary.
func memoryMB(b *testing.B, pid int, key string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kb float64
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				b.Fatal(err)
			}
			return kb / 1024
		}
	}
	b.Fatalf("no %s in smaps_rollup", key)
	return 0
}
