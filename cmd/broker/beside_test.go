package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// BenchmarkBeside compares scripts of this broker, with broker-worker beside it,
// and of another one, an older build whose path BROKER_BASELINE has. They take
// turns, so that both meet the same load.
func BenchmarkBeside(b *testing.B) {
	baseline := os.Getenv("BROKER_BASELINE")
	if baseline == "" {
		b.Skip("BROKER_BASELINE names no broker to compare with")
	}
	dir := b.TempDir()
	cmd := exec.Command("go", "build", "-o", dir+"/", ".", "../broker-worker")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	// Copies of all, as an installer makes them: the pages of a file that a linker
	// has just written map one by one, and each start takes a sixth more.
	installed := b.TempDir()
	if out, err := exec.Command("sh", "-c", `cp "$1"/* "$2" && cp "$3" "$2/baseline"`, "sh", dir, installed, baseline).CombinedOutput(); err != nil {
		b.Fatalf("copy: %v\n%s", err, out)
	}
	baseline = filepath.Join(installed, "baseline")
	programs := [2]string{filepath.Join(installed, "broker"), baseline}
	children := [2]string{filepath.Join(installed, "broker-worker"), baseline}
	for _, language := range []sandbox.Language{sandbox.JavaScript, sandbox.TypeScript} {
		b.Run("cold/"+string(language), func(b *testing.B) { besideCold(b, children, language) })
		b.Run("back-to-back/"+string(language), func(b *testing.B) { besideBackToBack(b, programs, string(language)) })
	}
	b.Run("fifty", func(b *testing.B) { besideFifty(b, programs) })
	b.Run("spare", func(b *testing.B) { besideSpare(b, programs) })
}

// small are the scripts of these comparisons.
var small = map[string]string{"javascript": "return 1+1", "typescript": "const n: number = 1; return n + 1"}

// reportBeside reports medians, in ms or what else unit says, and their ratio.
func reportBeside(b *testing.B, unit string, ours, theirs []float64) {
	median := func(x []float64) float64 { slices.Sort(x); return x[len(x)/2] }
	o, t := median(ours), median(theirs)
	b.ReportMetric(o, unit)
	b.ReportMetric(t, "baseline-"+unit)
	b.ReportMetric(o/t, unit+"-ratio")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// besideCold runs a script in a process that is started for it.
func besideCold(b *testing.B, children [2]string, language sandbox.Language) {
	var took [2][]float64
	var runners [2]sandbox.Runner
	for i, path := range children {
		runners[i] = worker.New(&worker.Options{Executable: path, Spares: -1})
		defer runners[i].Close()
	}
	for b.Loop() {
		for i, r := range runners {
			<-time.After(10 * time.Millisecond) // what is left of the last one goes
			res, err := r.Run(b.Context(), sandbox.Request{Language: language, Code: small[string(language)]})
			if err != nil || string(res.Value) != "2" {
				b.Fatalf("%+v, %v", res, err)
			}
			took[i] = append(took[i], milliseconds(res.Duration))
		}
	}
	reportBeside(b, "p50-ms", took[0], took[1])
}

// serveBeside starts a broker without servers.
func serveBeside(b *testing.B, path string, args ...string) *exec.Cmd {
	args = append([]string{"serve", "--config", writeServers(b, map[string]any{}), "--state-dir", b.TempDir()}, args...)
	return exec.CommandContext(b.Context(), path, args...)
}

// besideBackToBack runs scripts one directly after the other.
func besideBackToBack(b *testing.B, programs [2]string, language string) {
	const atOnce = 20
	var took [2][]float64
	var clients [2]*stdioClient
	for i, path := range programs {
		clients[i] = startClient(b, serveBeside(b, path))
	}
	for b.Loop() {
		for i, c := range clients {
			for n := range atOnce {
				start := time.Now()
				c.send(b, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":%q,"language":%q}}}`, n+1, small[language], language))
				if a := c.answer(b, n+1); !strings.Contains(a, `\"exit_code\":0`) {
					b.Fatal(a)
				}
				if n >= 2 { // the first ones meet a spare
					took[i] = append(took[i], milliseconds(time.Since(start)))
				}
			}
		}
	}
	reportBeside(b, "p50-ms", took[0], took[1])
}

// besideFifty lets fifty clients run scripts at the same time.
func besideFifty(b *testing.B, programs [2]string) {
	const clients, each = 50, 4
	var rates, costs [2][]float64
	var brokers [2]*exec.Cmd
	var sessions [2][]*mcp.ClientSession
	for i, path := range programs {
		brokers[i] = serveBeside(b, path, "--http", "127.0.0.1:0")
		url := listenBeside(b, brokers[i])
		for range clients {
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "b", Version: "1"}, nil).Connect(b.Context(), &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true}, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = cs.Close() })
			sessions[i] = append(sessions[i], cs)
		}
	}
	for b.Loop() {
		for i := range programs {
			start, before := time.Now(), processorMS(b, brokers[i].Process.Pid)
			var all sync.WaitGroup
			for _, cs := range sessions[i] {
				all.Go(func() {
					for range each {
						res, err := cs.CallTool(b.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": small["javascript"], "language": "javascript"}})
						if err != nil || res.IsError {
							b.Errorf("%+v, %v", res, err)
						}
					}
				})
			}
			all.Wait()
			rates[i] = append(rates[i], clients*each/time.Since(start).Seconds())
			costs[i] = append(costs[i], (processorMS(b, brokers[i].Process.Pid)-before)/(clients*each))
		}
	}
	reportBeside(b, "per-s", rates[0], rates[1])
	reportBeside(b, "cpu-ms", costs[0], costs[1])
}

// processorMS is the processor time in ms that a process has used, with its
// children that have ended.
func processorMS(b *testing.B, pid int) (ms float64) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	// utime, stime, cutime and cstime are fields 14 to 17, in hundredths of a second.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')'):]))
	for _, f := range fields[12:16] {
		ticks, _ := strconv.ParseFloat(f, 64)
		ms += ticks * 10
	}
	return ms
}

// listenBeside starts a broker that serves over HTTP, and returns its address.
func listenBeside(b *testing.B, cmd *exec.Cmd) string {
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "serving MCP at "); ok {
			go func() {
				for lines.Scan() {
				}
			}()
			return url
		}
	}
	b.Fatalf("%s serves nothing", cmd.Path)
	return ""
}

// besideSpare reports what the spare of a broker holds that has run a script.
func besideSpare(b *testing.B, programs [2]string) {
	var sizes [2][]float64
	for b.Loop() {
		for i, path := range programs {
			c := startClient(b, serveBeside(b, path))
			c.send(b, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"return 1 + 1"}}}`)
			c.answer(b, 1)
			<-time.After(3 * time.Second) // by then it waits, warm
			for _, child := range descendants(b, c.cmd.Process.Pid) {
				sizes[i] = append(sizes[i], memoryMB(b, child, "Rss"))
			}
			_ = c.in.Close()
			_ = c.cmd.Wait()
		}
	}
	reportBeside(b, "rss-MB", sizes[0], sizes[1])
}
