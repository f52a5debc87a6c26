package jsrun

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A memHost is a host in memory. Tools answer from their own goroutines, as
// real ones do.
type memHost struct {
	mu             sync.Mutex
	stdout, stderr strings.Builder
	calls          []sandbox.Call
	answer         func(sandbox.Call) (json.RawMessage, error)
}

func (h *memHost) Output(stream int, p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if stream == 1 {
		h.stdout.Write(p)
	} else {
		h.stderr.Write(p)
	}
}

func (h *memHost) Call(c sandbox.Call, done func(json.RawMessage, error)) {
	h.mu.Lock()
	h.calls = append(h.calls, c)
	h.mu.Unlock()
	if c.Target == "slow__never" {
		return
	}
	answer := h.answer
	if answer == nil {
		answer = answerTool
	}
	go func() { done(answer(c)) }()
}

// answerTool is the tools that every test has.
func answerTool(c sandbox.Call) (json.RawMessage, error) {
	if c.Func != "call" {
		return json.Marshal(map[string]any{"func": c.Func, "target": c.Target, "args": c.Args})
	}
	switch c.Target {
	case "echo__echo":
		return c.Args, nil
	case "github__list_issues":
		return json.RawMessage(`{"items":[{"id":1,"title":"one"},{"id":9007199254740993,"title":"two"}],"__proto__":{"x":1}}`), nil
	case "void__void":
		return nil, nil
	case "bad__json":
		return json.RawMessage(`{"a":`), nil
	case "bad__plain":
		return nil, errors.New("connection refused")
	}
	return nil, &sandbox.CallError{
		Name:    "ToolError",
		Message: "github/list_issues: repo is required",
		Fields:  json.RawMessage(`{"server":"github","tool":"list_issues","code":"invalid_arguments","retryable":false,"hint":"pass repo"}`),
	}
}

// testModules are a server as codegen writes it, one without a namespace of
// its own, and one with a dash.
var testModules = []sandbox.Module{
	{
		Path: "servers/github",
		Source: "import { callMCPTool } from './helpers/callMCPTool';\n" +
			"export const listIssues = (input) => callMCPTool('github__list_issues', input);\n" +
			"export const createIssue = (input) => callMCPTool('github__create_issue', input);\n",
		Exports: []string{"listIssues", "createIssue"},
		Global:  "github",
	},
	{
		Path: "servers/google-drive",
		Source: "import { callMCPTool } from './helpers/callMCPTool';\n" +
			"export const echo = (input) => callMCPTool('echo__echo', input);\n",
		Exports: []string{"echo"},
		Global:  "googleDrive",
	},
}

func run(t testing.TB, lang sandbox.Language, code string) (Outcome, *memHost) {
	t.Helper()
	h := &memHost{}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out := Run(ctx, Program{
		Language:    lang,
		Code:        code,
		Modules:     testModules,
		ModuleNames: []string{"servers/github", "servers/google-drive", "servers/slack"},
		Limits:      sandbox.Limits{Grace: 5 * time.Second},
	}, h)
	return out, h
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
