package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// serveLedger is a server that writes down what it is asked, in the file that is
// named first, before it answers; it does not answer what is slow.
func serveLedger() {
	s := mcp.NewServer(&mcp.Implementation{Name: "ledger", Version: "1"}, nil)
	no := false
	for name, a := range map[string]*mcp.ToolAnnotations{
		"write": {DestructiveHint: &no}, "slow_write": {DestructiveHint: &no}, "slow_read": {ReadOnlyHint: true},
	} {
		s.AddTool(&mcp.Tool{Name: name, Description: name, Annotations: a, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				f, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
				if err != nil {
					return nil, err
				}
				defer f.Close()
				fmt.Fprintln(f, name+string(req.Params.Arguments))
				if _, err := os.Stat(os.Args[1] + ".fast"); err != nil && strings.HasPrefix(name, "slow") {
					<-ctx.Done()
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "1"}}}, nil
			})
	}
	_ = s.Run(context.Background(), &mcp.StdioTransport{}) // it ends with its broker
}

// The broker is killed while a script writes: what is known to be done is not done
// again, and what may be done is not done by itself.
func TestKilledBrokerResumes(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{
		"slow_read":  `write{"i":0} write{"i":1} slow_read{} slow_read{} write{"i":2}`,
		"slow_write": `write{"i":0} write{"i":1} slow_write{} write{"i":2}`,
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			calls, config, script := filepath.Join(dir, "calls"), filepath.Join(dir, "servers.json"), filepath.Join(dir, "s.js")
			text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"t": map[string]any{"command": "ledger", "args": []string{calls}}}})
			if err != nil {
				t.Fatal(err)
			}
			code := `for (let i = 0; i < 2; i++) await callMCPTool('t__write', { i }); await callMCPTool('t__` + tool + `', {}); await callMCPTool('t__write', { i: 2 }); return 'end'`
			if err := errors.Join(os.WriteFile(config, text, 0o600), os.WriteFile(script, []byte(code), 0o600)); err != nil {
				t.Fatal(err)
			}
			made := func() string {
				b, _ := os.ReadFile(calls)
				return strings.Join(strings.Fields(string(b)), " ")
			}
			killed := brokerCommand(t, "exec", script, "--config", config, "--state-dir", dir)
			if err := killed.Start(); err != nil {
				t.Fatal(err)
			}
			eventually.True(t, "the slow call is made", func() bool { return strings.Contains(made(), tool) })
			if err := killed.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = killed.Wait() // its error is that it was killed
			if err := os.WriteFile(calls+".fast", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if tool == "slow_write" {
				out, err := brokerCommand(t, "runs", "resume", "r_", "--json", "--config", config, "--state-dir", dir).Output()
				if err == nil || !strings.Contains(string(out), `"state": "unknown"`) || !strings.Contains(string(out), `"exit_code": 3`) {
					t.Fatalf("%s, %v", out, err)
				}
				if out, err := brokerCommand(t, "runs", "settle", "r_", "3", "--done", "--config", config, "--state-dir", dir).CombinedOutput(); err != nil {
					t.Fatalf("%s, %v", out, err)
				}
			}
			out, err := brokerCommand(t, "runs", "resume", "r_", "--config", config, "--state-dir", dir).Output()
			if err != nil || string(out) != "end\n" || made() != want {
				t.Errorf("%q, %v\ncalls %s\nwant  %s", out, err, made(), want)
			}
		})
	}
}
