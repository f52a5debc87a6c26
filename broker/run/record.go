package run

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// Commit ends the record of x. The answer is the JSON that its client gets.
func (x *Execution) Commit(res sandbox.Result, answer json.RawMessage) {
	if x.o.Audit != nil {
		if err := x.o.Audit.Finish(x.entry(res, answer)); err != nil {
			x.e.log.Error("record execution", "execution", x.id, "err", err)
		}
	}
	if x.o.Learned != nil {
		x.o.Learned.FlushSoon()
	}
	x.reportCalled()
	x.e.past(x.Request.Owner) // the past may have been dropped while x ran
	x.e.log.Info("executed", "execution", x.id, "code", res.ExitCode, "took", time.Since(x.started), "calls", len(x.bridge.Records()))
}

// maxCalled bounds the tools that are passed to Options.Called.
const maxCalled = 50

// reportCalled reports which tools were called with success.
func (x *Execution) reportCalled() {
	if x.o.Called == nil || x.bridge == nil {
		return
	}
	var tools []string
	for _, r := range x.bridge.Records() {
		if r.Status == bridge.StatusOK && r.ID != "" && len(tools) < maxCalled && !slices.Contains(tools, r.ID) {
			tools = append(tools, r.ID)
		}
	}
	x.o.Called(x.Request.Owner, x.Request.Session, tools)
}

// begin opens the record of the execution.
func (x *Execution) begin(lang sandbox.Language) {
	if x.o.Audit == nil {
		return
	}
	x.id = x.o.Audit.Begin(state.Execution{ID: x.Request.ID, Client: x.Request.Client, ClientInfo: x.Request.ClientInfo, Language: string(lang), Code: x.Request.Code, Started: x.started})
}

// record learns from a call that has ended, and records it.
func (x *Execution) record(r bridge.Record) {
	x.learn(r)
	x.heard.Habits.Record(r.ID, r.Value)
	x.heard.Partials.Add(r)
	if x.o.Vault != nil && x.o.Redact.On() && len(r.Result) > 0 {
		x.o.Vault.Saw(x.owner(), r.Server, r.Result)
	}
	if x.o.Observer != nil {
		x.o.Observer.Recorded(r.Server, r.Class.String(), string(r.Status), r.Decision, r.Duration)
	}
	if x.o.Audit == nil {
		return
	}
	x.o.Audit.Record(state.Call{
		ExecutionID: x.id, Seq: r.Seq, Server: r.Server, Tool: r.Tool, ID: r.ID,
		Started: r.Started, Duration: r.Duration, Waited: r.Waited, Line: r.Line, Status: string(r.Status), Error: r.Error,
		Class: r.Class.String(), Decision: r.Decision,
		ArgBytes: int64(len(r.Args)), ResultBytes: int64(r.ResultBytes), Args: r.Args, Result: r.Result,
	})
}

// entry returns the finished execution for the audit record.
func (x *Execution) entry(res sandbox.Result, answer json.RawMessage) state.Execution {
	e := state.Execution{
		ID: x.id, Ended: time.Now(), ExitCode: res.ExitCode, Status: statusOf(res.ExitCode),
		Duration: time.Since(x.started), CPU: res.CPU, Prepared: x.prepared, Queued: x.queued, Opened: x.opened, BytesOut: int64(len(answer)), Error: x.located(firstLine(res.Error)), Answer: answer,
	}
	if x.bridge != nil {
		e.BytesIn = x.bridge.Bytes()
		e.Calls = len(x.bridge.Records())
	}
	return e
}

func statusOf(code int) string {
	switch code {
	case sandbox.ExitOK:
		return state.StatusDone
	case sandbox.ExitRefused:
		return state.StatusRefused
	case sandbox.ExitTimeout:
		return state.StatusTimeout
	case sandbox.ExitCanceled:
		return state.StatusCancelled
	case sandbox.ExitApproval:
		return state.StatusWaiting
	}
	return state.StatusFailed
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
