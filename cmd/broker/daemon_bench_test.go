package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// BenchmarkBridge measures what the daemon costs a client: how long a bridge takes
// until initialize is answered, with a daemon there, beside the same program
// printing its version, and how much longer a call takes than with --no-daemon,
// all in turns; the memory of a bridge that no other process shares; and how many
// processes of three servers three clients have.
func BenchmarkBridge(b *testing.B) {
	dir, err := os.MkdirTemp("", "b") // short enough for a socket
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	broker := filepath.Join(dir, "broker")
	build := exec.Command("go", "build", "-o", broker, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	servers := map[string]any{}
	for i := range 3 {
		servers[fmt.Sprintf("good-%d", i)] = map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Good)}
	}
	config := filepath.Join(dir, "servers.json")
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		b.Fatal(err)
	}
	serve := func(state string, more ...string) *stdioClient {
		cmd := exec.Command(broker, append([]string{"serve", "--mode", "tools", "--config", config, "--state-dir", filepath.Join(dir, state)}, more...)...)
		cmd.Env = append(os.Environ(), host.DaemonVariable+"=on")
		return startClient(b, cmd)
	}
	id := 0
	call := func(c *stdioClient) time.Duration {
		id++
		start := time.Now()
		c.send(b, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"call_tool","arguments":{"tool":"good-%d__echo","arguments":{"a":1}}}}`, id, id%3))
		c.answer(b, id)
		return time.Since(start)
	}
	shared := filepath.Join(dir, "shared")
	b.Cleanup(func() { _, _ = daemon.Ask(shared, daemon.OpStop, daemon.Build{}) })
	direct, bridged := serve("own", "--no-daemon"), serve("shared")
	for range 2 {
		call(serve("shared")) // they have the same servers
	}
	for range 30 {
		call(direct)
		call(bridged)
	}
	var start, version, through, without []time.Duration
	for b.Loop() {
		began := time.Now()
		c := serve("shared")
		start = append(start, time.Since(began))
		for range 20 {
			without = append(without, call(direct))
			through = append(through, call(bridged))
		}
		_ = c.in.Close()
		_ = c.cmd.Wait()
		began = time.Now()
		if err := exec.Command(broker, "version").Run(); err != nil {
			b.Fatal(err)
		}
		version = append(version, time.Since(began))
	}
	<-time.After(2 * host.BridgeRestTime)
	b.ReportMetric(memoryMB(b, bridged.cmd.Process.Pid, "Private_Dirty"), "private-MB")
	w, err := daemon.Ask(shared, daemon.OpStatus, daemon.Build{})
	if err != nil {
		b.Fatal(err)
	}
	upstream := 0
	for _, pid := range descendants(b, w.PID) {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(string(line), fakeupstream.Command()) {
			upstream++
		}
	}
	b.ReportMetric(float64(upstream), "servers")
	p50 := func(took []time.Duration) float64 {
		slices.Sort(took)
		return float64(took[len(took)/2].Microseconds()) / 1000
	}
	b.ReportMetric(p50(start), "initialize-p50-ms")
	b.ReportMetric(p50(version), "version-p50-ms")
	b.ReportMetric(p50(without), "call-p50-ms")
	b.ReportMetric(p50(through), "bridged-call-p50-ms")
}
