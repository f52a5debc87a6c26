package records

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/state"
)

// A day fits on one screen, however much was recorded: the totals, the last executions,
// and how to find the rest.
func TestDayIsOneScreen(t *testing.T) {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)
	day := cli.Span{From: time.Date(2026, 3, 4, 0, 0, 0, 0, time.Local), Until: time.Date(2026, 3, 5, 0, 0, 0, 0, time.Local)}
	execution := func(n int, code string) state.Execution {
		return state.Execution{ID: fmt.Sprintf("e_%016d", n), Client: "stdio", ClientInfo: "claude-code", Status: state.StatusDone, Code: code, Started: noon.Add(time.Duration(n) * time.Second)}
	}
	call := func(n int, tool, status, args string) state.Call {
		return state.Call{ExecutionID: fmt.Sprintf("e_%016d", n), Server: "git", ID: "git__" + tool, Status: status, Args: []byte(args), Started: noon, Duration: time.Millisecond}
	}
	var many Day
	for n := range 300 {
		many.Executions = append(many.Executions, execution(n, ""))
		many.Calls = append(many.Calls, call(n, "log", state.CallOK, ""))
	}
	alike := Day{Executions: []state.Execution{execution(1, "// Read it.\nx")}}
	different := Day{Executions: []state.Execution{execution(1, "import x from 'y'\n\n/* Write\n it. */")}}
	for i := range 40 {
		alike.Calls = append(alike.Calls, call(1, "log", state.CallOK, ""))
		different.Calls = append(different.Calls, call(1, "push", state.CallOK, fmt.Sprintf(`{"n":%d}`, i)))
	}
	failed := Day{Executions: []state.Execution{execution(1, "# Try it.\nx")}, Calls: []state.Call{call(1, "push", state.CallError, ""), call(9, "log", state.CallOK, "")}}
	failed.Executions[0].Status, failed.Calls[0].Error = state.StatusFailed, "no"
	for _, tt := range []struct {
		name  string
		day   Day
		lines int
		want  []string
	}{
		{"many executions", many, maxDayLines + 3, []string{"Wed 2026-03-04: 300 executions, 300 calls of 1 server\n", "270 executions before these: broker audit list --limit 1000 --since \"2026-03-04 00:00\" --until \"2026-03-05 00:00\"\n", "e_0000000000000299", "to keep them:"}},
		{"calls that are alike", alike, 4, []string{"Read it.\n", "git__log  ok, 40ms in 40 calls\n", "to keep them:"}},
		{"calls that differ", different, maxExecutionLines + 3, []string{"  Write\n", `{"n":3}`, "and 36 more: broker audit show e_0000000000"}},
		{"failures", failed, 5, []string{"1 execution (1 not done), 2 calls of 1 server (1 not ok)\n", "failed", "git__push  error, 1ms: no\n", "git__log  ok, 1ms\n", "Try it.\n"}},
	} {
		var out strings.Builder
		if err := PrintDay(&out, tt.day, day); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n > tt.lines {
			t.Errorf("%s: %d lines, want at most %d:\n%s", tt.name, n, tt.lines, &out)
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", tt.name, want, &out)
			}
		}
	}
}
