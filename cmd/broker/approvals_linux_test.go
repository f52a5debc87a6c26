package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/approver"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// askingLedger is a config of the server ledger, before whose writes a person is asked,
// and what says which calls it got.
func askingLedger(t *testing.T, policy string) (file string, made func() string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	calls, file := filepath.Join(dir, "calls"), filepath.Join(dir, "servers.json")
	text := fmt.Sprintf(`{"mcpServers": {"t": {"command": "ledger", "args": [%q]}}, "broker": {"policy": %s}}`, calls, policy)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, func() string {
		b, _ := os.ReadFile(calls)
		lines := strings.Fields(string(b))
		slices.Sort(lines)
		return strings.Join(lines, " ")
	}
}

// approve is broker approvals approve at a terminal, where a person types the code.
func approve(t *testing.T, config, run string, flags ...string) {
	t.Helper()
	if name := approver.ClientAbove(); name != "" {
		t.Skip("nothing can be approved below ", name)
	}
	person, cmd := atTerminal(t, nil, append([]string{"approvals", "approve", run, "--config", config}, flags...)...)
	seen := readUntil(t, person, "to approve")
	code := regexp.MustCompile(`Type (\w+) to approve`).FindStringSubmatch(seen)[1]
	if _, err := person.WriteString(code + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v; the terminal shows %q", err, seen)
	}
}

const fiveWrites = `return Promise.all([1, 2, 3, 4, 5].map(n => callMCPTool('t__write', { n }).then(() => n, e => e.code)))`

// Five writes at once are one question, of which one is denied: at the client, in
// another terminal, and there after the broker was killed.
func TestFiveWritesAreOneQuestion(t *testing.T) {
	const result, calls = `"result":[1,2,"denied",4,5]`, `write{"n":1} write{"n":2} write{"n":4} write{"n":5}`
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, way := range []string{"form", "terminal", "killed"} {
			t.Run(version+" "+way, func(t *testing.T) {
				file, made := askingLedger(t, `{"rules": [{"effect": "ask", "tools": ["t.write"]}]}`)
				var o *mcp.ClientOptions
				asked := 0
				if way == "form" {
					o = &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						asked++
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve once", "except": "3"}}, nil
					}}
				}
				cmd, cs := servedOver(t, file, version, o)
				text := execute(t, cs, map[string]any{"code": fiveWrites})
				if way == "form" {
					if asked != 1 || !strings.Contains(text, result) || made() != calls {
						t.Errorf("asked %d times, %s\n%s", asked, text, made())
					}
					return
				}
				var a struct {
					ExitCode int    `json:"exit_code"`
					RunID    string `json:"run_id"`
					Pending  []any
				}
				if err := json.Unmarshal([]byte(text), &a); err != nil || a.ExitCode != 3 || len(a.Pending) != 5 || made() != "" {
					t.Fatalf("%s, %v\n%s", text, err, made())
				}
				if way == "killed" {
					if err := cmd.Process.Kill(); err != nil {
						t.Fatal(err)
					}
					_, cs = servedOver(t, file, version, nil)
				}
				if out, err := brokerCommand(t, "approvals", "approve", a.RunID, "--config", file).CombinedOutput(); err == nil {
					t.Errorf("approved without a person: %s", out)
				}
				approve(t, file, a.RunID, "--only", "1,2,4,5")
				if out, err := brokerCommand(t, "approvals", "deny", a.RunID, "--config", file).CombinedOutput(); err != nil {
					t.Fatalf("%s, %v", out, err)
				}
				if text := execute(t, cs, map[string]any{"resume": a.RunID}); !strings.Contains(text, result) || made() != calls {
					t.Errorf("%s\n%s", text, made())
				}
				if text := execute(t, cs, map[string]any{"resume": a.RunID}); !strings.Contains(text, "nothing to resume") || made() != calls {
					t.Errorf("%s\n%s", text, made())
				}
			})
		}
	}
}

// servedOver is a client of broker serve.
func servedOver(t *testing.T, config, version string, o *mcp.ClientOptions) (*exec.Cmd, *mcp.ClientSession) {
	t.Helper()
	cmd := brokerCommand(t, "serve", "--config", config)
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).
		Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() }) // it may be killed
	return cmd, cs
}

func execute(t *testing.T, cs *mcp.ClientSession, args map[string]any) string {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// What is approved for the run, and always, is not asked about again.
func TestLastingApprovals(t *testing.T) {
	file, made := askingLedger(t, `{"preset": "careful"}`)
	script := filepath.Join(filepath.Dir(file), "s.js")
	if err := os.WriteFile(script, []byte(`for (let i = 0; i < 3; i++) await callMCPTool('t__write', { i })`), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, flag := range []string{"--for-run", "--always"} {
		out, err := brokerCommand(t, "exec", script, "--json", "--config", file).Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
			t.Fatalf("%s, %v", out, err)
		}
		run := regexp.MustCompile(`r_[a-z2-7]{26}`).FindString(string(out))
		approve(t, file, run, flag)
		if out, err := brokerCommand(t, "runs", "resume", run, "--config", file).CombinedOutput(); err != nil || strings.Count(made(), "write") != 3*(i+1) {
			t.Errorf("%s: %s, %v\n%s", flag, out, err, made())
		}
	}
	out, err := brokerCommand(t, "policy", "explain", "t.write", "--config", file).Output()
	if err != nil || !strings.HasPrefix(string(out), "t__write: allow (rule)\n") || !strings.Contains(string(out), "servers.json:") || !strings.Contains(string(out), "(allow) decides") {
		t.Errorf("%s, %v", out, err)
	}
	if out, err := brokerCommand(t, "exec", script, "--config", file).CombinedOutput(); err != nil {
		t.Errorf("%s, %v", out, err)
	}
	// A rule that asks wins over one that allows.
	if err := config.Edit(file, func(data []byte) ([]byte, error) {
		return config.SetKey(data, []string{"broker", "policy", "rules"}, json.RawMessage(`[{"effect": "ask", "tools": ["t"]}]`))
	}); err != nil {
		t.Fatal(err)
	}
	out, _ = brokerCommand(t, "exec", script, "--json", "--config", file).Output() // it ends with 3
	run := regexp.MustCompile(`r_[a-z2-7]{26}`).FindString(string(out))
	if out, err := brokerCommand(t, "approvals", "approve", run, "--always", "--config", file).CombinedOutput(); err == nil || !strings.Contains(string(out), "t__write cannot be approved always") {
		t.Errorf("%s, %v", out, err)
	}
}

// The same through a client that we did not write.
func TestInspectorWaitsForApproval(t *testing.T) {
	bin := npmBin(t)
	file, made := askingLedger(t, `{"rules": [{"effect": "ask", "tools": ["t.write"]}]}`)
	path, err := exec.LookPath("broker")
	if err != nil {
		t.Fatal(err)
	}
	client := filepath.Join(filepath.Dir(file), "client.json")
	entry, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"broker": map[string]any{
		"command": path, "args": []string{"serve", "--config", file}, "env": map[string]string{"XDG_STATE_HOME": os.Getenv("XDG_STATE_HOME"), "PATH": os.Getenv("PATH")}}}})
	if err := errors.Join(err, os.WriteFile(client, entry, 0o600)); err != nil {
		t.Fatal(err)
	}
	inspect := func(arg string) string {
		return string(output(t, exec.CommandContext(t.Context(), filepath.Join(bin, "mcp-inspector"), "--cli", "--config", client, "--server", "broker",
			"--method", "tools/call", "--tool-name", "execute_code", "--tool-arg", arg)))
	}
	waits := inspect("code=" + fiveWrites)
	run := regexp.MustCompile(`r_[a-z2-7]{26}`).FindString(waits)
	if !strings.Contains(waits, `\"exit_code\":3`) || run == "" || made() != "" {
		t.Fatalf("%s\n%s", waits, made())
	}
	if out, err := brokerCommand(t, "approvals", "deny", run, "--only", "3", "--config", file).CombinedOutput(); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	approve(t, file, run)
	if done := inspect("resume=" + run); !strings.Contains(done, `\"result\":[1,2,\"denied\",4,5]`) || strings.Count(made(), "write") != 4 {
		t.Errorf("%s\n%s", done, made())
	}
}
