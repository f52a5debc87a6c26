package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/badmessages"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// loadClients is the number of clients that call while another one misbehaves.
const loadClients = 20

// malformed returns 3,000 messages, of every method and both eras of the protocol.
func malformed() []string {
	n := 0
	id := func() string { n++; return fmt.Sprintf(`"bad-%d"`, n) }
	var list []string
	for _, s := range [][2]string{
		{"initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{}},"sampling":{},"roots":{}},"clientInfo":{"name":"bad","version":"1"}}`},
		{"tools/call", `{"name":"list_servers","arguments":{"server":"s"},"inputResponses":{"q1":{"action":"accept"}},"requestState":"s","_meta":{"progressToken":"p"}}`},
		{"tools/list", `{"cursor":"c","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}`},
		{"server/discover", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bad"}}}`},
		{"prompts/get", `{"name":"use-broker","arguments":{"a":"b"}}`}, {"resources/read", `{"uri":"broker://code/index.ts"}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"use-broker"},"argument":{"name":"a","value":"b"}}`},
		{"subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a"]}}`},
		{"logging/setLevel", `{"level":"info"}`}, {"ping", `{}`}, {"skills/get", `{"uri":"skill://a"}`},
		{"notifications/initialized", `{"_meta":{"a":1}}`}, {"notifications/cancelled", `{"requestId":"nobody","reason":"r"}`},
		{"notifications/progress", `{"progressToken":"p","progress":1}`}, {"notifications/roots/list_changed", `{}`},
	} {
		params := badmessages.Values(s[1])
		list = append(list, badmessages.Requests(s[0], params, id)...)
		list = append(list, badmessages.Notifications(s[0], params)...)
	}
	list = append(list, badmessages.Envelopes()...)
	list = append(list, badmessages.Responses("1", `{"roots":[{"uri":"file:///a"}]}`)...)
	for i := 0; len(list) < 3000; i++ {
		list = append(list, list[i])
	}
	return list[:3000]
}

// underLoad runs attack while clients call; each call must have its answer.
func underLoad(t *testing.T, connect func(context.Context) (*mcp.ClientSession, error), attack func()) {
	t.Helper()
	var calls, harmed atomic.Int64
	over := make(chan struct{})
	var wg sync.WaitGroup
	sessions := make([]*mcp.ClientSession, loadClients)
	for i := range sessions {
		cs, err := connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer cs.Close()
		sessions[i] = cs
		wg.Go(func() {
			for {
				res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_servers", Arguments: map[string]any{}})
				if calls.Add(1); err != nil || res.IsError {
					harmed.Add(1)
					t.Errorf("client %d after %d calls: %+v, %v", i, calls.Load(), res, err)
					return
				}
				select {
				case <-over:
					return
				case <-time.After(20 * time.Millisecond): // a model thinks for longer
				}
			}
		})
	}
	began := time.Now()
	attack()
	took := time.Since(began)
	close(over)
	wg.Wait()
	t.Logf("3000 malformed messages in %v: %d of %d clients harmed in %d calls", took.Round(time.Millisecond), harmed.Load(), loadClients, calls.Load())
}

// program is the broker: this test binary, or the one that BROKER_PROGRAM names.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if path := os.Getenv("BROKER_PROGRAM"); path != "" {
		return exec.CommandContext(t.Context(), path, args...)
	}
	return brokerCommand(t, args...)
}

// Malformed messages over HTTP end neither the broker nor a session.
func TestMalformedMessagesUnderLoadOverHTTP(t *testing.T) {
	t.Parallel()
	path := shelfFile(t)
	cmd := program(t, "serve", "--http", "127.0.0.1:0", "--config", path, "--state-dir", t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	url := make(chan string, 1)
	go func() {
		r := bufio.NewScanner(stderr)
		for r.Scan() {
			if _, at, ok := strings.Cut(r.Text(), "serving MCP at "); ok {
				url <- strings.TrimSpace(at)
			}
		}
		ended <- cmd.Wait()
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	at := <-url
	connect := func(ctx context.Context) (*mcp.ClientSession, error) {
		return mcp.NewClient(&mcp.Implementation{Name: "good", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: at}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	}
	underLoad(t, connect, func() {
		session := ""
		for i, m := range malformed() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(m))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if strings.Contains(m, "2026-07-28") {
				req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			} else if i%2 == 0 && session != "" {
				req.Header.Set("Mcp-Session-Id", session)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatalf("message %d, %.200s: %v", i, m, err)
			}
			if id := res.Header.Get("Mcp-Session-Id"); id != "" {
				session = id
			}
			if !strings.Contains(m, "subscriptions/listen") {
				_, _ = io.Copy(io.Discard, res.Body)
			}
			_ = res.Body.Close()
			if res.StatusCode == http.StatusInternalServerError {
				t.Errorf("internal error after %.200s", m)
			}
		}
	})
	select {
	case err := <-ended:
		ended <- err
		t.Errorf("the broker has ended: %v", err)
	default:
	}
}

// Malformed messages of one client end neither the daemon nor another session.
func TestMalformedMessagesUnderLoadThroughTheDaemon(t *testing.T) {
	t.Parallel()
	state, path := shortDir(t), shelfFile(t)
	t.Cleanup(func() { _, _ = daemon.Ask(state, daemon.OpStop, daemon.Build{}) })
	bridge := func() *exec.Cmd {
		cmd := program(t, "serve", "--config", path, "--state-dir", state)
		cmd.Env = append(os.Environ(), host.DaemonVariable+"=on")
		return cmd
	}
	connect := func(ctx context.Context) (*mcp.ClientSession, error) {
		return mcp.NewClient(&mcp.Implementation{Name: "good", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: bridge()}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	}
	before := 0
	underLoad(t, connect, func() {
		w := daemonStatus(t, state)
		if w == nil {
			t.Fatal("there is no daemon")
		}
		before = w.PID
		bad := bridge()
		in, err := bad.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := bad.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := bad.Start(); err != nil {
			t.Fatal(err)
		}
		answered := make(chan struct{})
		go func() { // until the last answer
			defer close(answered)
			r := bufio.NewReaderSize(out, 1<<20)
			for {
				line, err := r.ReadString('\n')
				var m struct{ ID any }
				if json.Unmarshal([]byte(line), &m) == nil && m.ID == "the-last" || err != nil {
					return
				}
			}
		}()
		_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bad","version":"1"}}}`+"\n")
		for i, m := range malformed() {
			if _, err := io.WriteString(in, m+"\n"); err != nil {
				t.Fatalf("message %d: %v", i, err)
			}
		}
		_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":"the-last","method":"tools/list"}`+"\n")
		<-answered
		_ = in.Close()
		_ = bad.Wait()
	})
	if w := daemonStatus(t, state); w == nil || w.PID != before {
		t.Errorf("the daemon of process %d is %+v now", before, w)
	}
	log, err := os.ReadFile(filepath.Join(state, "daemon.log"))
	if err == nil && strings.Contains(string(log), "panic") {
		t.Errorf("the daemon's log: %.2000s", log)
	}
}

// Clients of one daemon set their levels while notifications flow to both.
func TestLevelsThroughTheDaemon(t *testing.T) {
	state, config := shortDir(t), filepath.Join(t.TempDir(), "servers.json")
	writeConfig(t, config, map[string]any{"mcpServers": map[string]any{"good": map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Good)}}})
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Cleanup(func() { _, _ = daemon.Ask(state, daemon.OpStop, daemon.Build{}) })
	clients := make([]*stdioClient, 2)
	for i := range clients {
		cmd := program(t, "serve", "--config", config, "--state-dir", state)
		cmd.Env = append(os.Environ(), host.DaemonVariable+"=on")
		clients[i] = startClient(t, cmd)
		clients[i].send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"for (let n = 0; n < 50; n++) await good.add({a: n, b: 1}); return 'through'"},"_meta":{"progressToken":"of-%d"}}}`, i))
	}
	values := []string{`{"level":"debug"}`, `{"level":"emergency"}`, `{"level":"error"}`, `{"level":"loud"}`, `{"level":null}`, `{"level":7}`, `{}`, `null`, `[]`, `{"level":["info"]}`}
	for n, params := range values {
		for _, c := range clients {
			c.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"logging/setLevel","params":%s}`, 10+n, params))
		}
	}
	for i, c := range clients {
		flowed, answers := 0, make(map[int]string)
		for len(answers) < len(values)+1 && c.lines.Scan() {
			line := c.lines.Text()
			var m struct {
				ID     int
				Method string
				Params struct{ ProgressToken string }
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatalf("%.300s: %v", line, err)
			}
			switch {
			case m.Method == "notifications/progress":
				if flowed++; m.Params.ProgressToken != fmt.Sprint("of-", i) {
					t.Errorf("client %d is sent %.300s", i, line)
				}
			case m.Method == "":
				answers[m.ID] = line
			}
		}
		for n, params := range values {
			if known := n < 3; answers[10+n] == "" || known == strings.Contains(answers[10+n], `"error"`) {
				t.Errorf("client %d: %s is answered %.300s", i, params, answers[10+n])
			}
		}
		if flowed == 0 || !strings.Contains(answers[5], "through") {
			t.Errorf("client %d: %d notifications, then %.300s", i, flowed, answers[5])
		}
	}
}
