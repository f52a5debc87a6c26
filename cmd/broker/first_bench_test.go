package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

// npmServers are eight servers of npm that need no network to list their tools.
var npmServers = map[string]any{
	"filesystem":          npx(nil, "@modelcontextprotocol/server-filesystem@2026.8.31", os.TempDir()),
	"memory":              npx(nil, "@modelcontextprotocol/server-memory@2026.8.31"),
	"sequential-thinking": npx(nil, "@modelcontextprotocol/server-sequential-thinking@2026.8.31"),
	"everything":          npx(nil, "@modelcontextprotocol/server-everything@2026.8.31"),
	"github":              npx(map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "x"}, "@modelcontextprotocol/server-github@2025.4.8"),
	"slack":               npx(map[string]string{"SLACK_BOT_TOKEN": "x", "SLACK_TEAM_ID": "x"}, "@modelcontextprotocol/server-slack@2025.4.25"),
	"google-maps":         npx(map[string]string{"GOOGLE_MAPS_API_KEY": "x"}, "@modelcontextprotocol/server-google-maps@0.6.2"),
	"playwright":          npx(nil, "@playwright/mcp@0.0.83"),
}

func npx(env map[string]string, args ...string) map[string]any {
	return map[string]any{"command": "npx", "args": append([]string{"-y"}, args...), "env": env}
}

// BenchmarkFirstSearch measures the first minute of a new user, from the start of
// the client: until tools/list is answered, until the first search has the right
// tool first, and until all servers are listed; with nothing cached by npm, and
// with what npx has left from before. It needs a registry of npm.
func BenchmarkFirstSearch(b *testing.B) {
	if _, err := exec.LookPath("npx"); err != nil {
		b.Skip("needs npx")
	}
	broker, home := benchBroker(b), b.TempDir()
	b.Run("empty", func(b *testing.B) {
		for b.Loop() {
			firstSearch(b, broker, b.TempDir())
		}
	})
	for _, server := range npmServers {
		args := server.(map[string]any)["args"].([]string)
		cmd := exec.Command("npx", args...) // which ends with its input
		cmd.Env = append(os.Environ(), "HOME="+home)
		_ = cmd.Run() // that some want their credentials comes after the installation
	}
	b.Run("warm", func(b *testing.B) {
		for b.Loop() {
			dir := b.TempDir()
			if err := os.Symlink(filepath.Join(home, ".npm"), filepath.Join(dir, ".npm")); err != nil {
				b.Fatal(err)
			}
			firstSearch(b, broker, dir)
		}
	})
}

func firstSearch(b *testing.B, broker, home string) {
	cmd := exec.Command(broker, "serve", "--config", writeServers(b, npmServers), "--no-daemon")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=")
	start := time.Now()
	c := startClient(b, cmd)
	ask := func(id int, method, params string) string {
		c.send(b, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
		return c.answer(b, id)
	}
	ask(1, "tools/list", `{}`)
	b.ReportMetric(float64(time.Since(start).Milliseconds()), "tools-list-ms")
	for id := 2; ; id++ {
		answer := ask(id, "tools/call", `{"name":"search_tools","arguments":{"query":"post a message to a Slack channel","limit":1}}`)
		if strings.Contains(answer, "slack__slack_post_message") {
			b.ReportMetric(float64(id-1), "searches")
			b.ReportMetric(time.Since(start).Seconds(), "right-s")
			break
		}
	}
	ready := 0
	for id := 1000; ready < len(npmServers); id++ {
		if time.Since(start) > 5*time.Minute {
			b.Fatalf("%d of %d servers are ready after five minutes", ready, len(npmServers))
		}
		ready = strings.Count(ask(id, "tools/call", `{"name":"list_servers","arguments":{}}`), `\"ready\"`)
	}
	b.ReportMetric(time.Since(start).Seconds(), "all-s")
	_ = c.in.Close()
	_ = cmd.Wait()
}

// BenchmarkDaemonMemory reports what a daemon with 35 servers takes at rest, after
// a search and a script. It reads the recorded catalogues beside the repository.
func BenchmarkDaemonMemory(b *testing.B) {
	servers, broker := recordedServers(b), benchBroker(b)
	dir, err := os.MkdirTemp("", "b") // short enough for a socket
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	b.Cleanup(func() { _, _ = daemon.Ask(dir, daemon.OpStop, daemon.Build{}) })
	config := writeServers(b, servers)
	for b.Loop() {
		cmd := exec.Command(broker, "serve", "--config", config, "--state-dir", dir)
		cmd.Env = append(os.Environ(), host.DaemonVariable+"=on")
		c := startClient(b, cmd)
		c.send(b, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_tools","arguments":{"query":"create an issue"}}}`)
		c.answer(b, 2)
		c.send(b, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"return 1 + 1"}}}`)
		c.answer(b, 3)
		w, err := daemon.Ask(dir, daemon.OpStatus, daemon.Build{})
		if err != nil {
			b.Fatal(err)
		}
		<-time.After(host.BrokerRestTime + 2*time.Second)
		b.ReportMetric(memoryMB(b, w.PID, "Pss"), "pss-MB")
		b.ReportMetric(memoryMB(b, w.PID, "Private_Dirty"), "private-MB")
		_ = c.in.Close()
		_ = cmd.Wait()
	}
}

func benchBroker(b *testing.B) string {
	dir := b.TempDir()
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), ".", "../broker-worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "broker")
}

// replayVariable names a recorded catalogue that the test program serves.
const replayVariable = "BROKER_TEST_REPLAY"

// serveRecorded answers as the recorded server did.
func serveRecorded(file string) {
	var recorded struct {
		Initialize map[string]any    `json:"initialize"`
		Tools      []json.RawMessage `json:"tools"`
	}
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &recorded) != nil {
		os.Exit(1)
	}
	recorded.Initialize["capabilities"] = map[string]any{"tools": map[string]any{}}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if in.Decode(&request) != nil {
			return
		}
		results := map[string]any{"initialize": recorded.Initialize, "tools/list": map[string]any{"tools": recorded.Tools}, "ping": map[string]any{}}
		if result, ok := results[request.Method]; ok && request.ID != nil {
			_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": result})
		}
	}
}
