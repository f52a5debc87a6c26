package run

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/run/hint"
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
	if x.bridge != nil {
		x.o.reportCalled(&x.Request, x.bridge.Records())
	}
	x.e.past(x.Request.Owner) // the past may have been dropped while x ran
	x.e.log.Info("executed", "execution", x.id, "code", res.ExitCode, "took", time.Since(x.started), "calls", len(x.bridge.Records()))
}

// maxCalled bounds the tools that are passed to Options.Called.
const maxCalled = 50

// reportCalled reports which tools were called with success.
func (o *Options) reportCalled(req *Request, records []bridge.Record) {
	if o.Called == nil {
		return
	}
	var tools []string
	for _, r := range records {
		if r.Status == bridge.StatusOK && r.ID != "" && len(tools) < maxCalled && !slices.Contains(tools, r.ID) {
			tools = append(tools, r.ID)
		}
	}
	o.Called(req.Owner, req.Session, tools)
}

// begin opens the record of the execution.
func (x *Execution) begin(lang sandbox.Language) {
	if x.o.Audit == nil {
		return
	}
	x.id = x.o.Audit.Begin(state.Execution{ID: x.Request.ID, Client: x.Request.Client, ClientInfo: x.Request.ClientInfo, Language: string(lang), Code: x.Request.Code, Started: x.started})
}

// entry returns the finished execution for the audit record.
func (x *Execution) entry(res sandbox.Result, answer json.RawMessage) state.Execution {
	e := state.Execution{
		ID: x.id, Ended: time.Now(), ExitCode: res.ExitCode, Status: statusOf(res.ExitCode),
		Duration: time.Since(x.started), CPU: res.CPU, Prepared: x.phases.prepared, Queued: x.phases.queued, Opened: x.phases.opened, BytesOut: int64(len(answer)), Error: located(x.Request.File, firstLine(res.Error)), Answer: answer,
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

// A recorder records the calls of one execution, and learns from them.
type recorder struct {
	o         *Options
	catalog   *catalog.Catalog
	id, owner string
	heard     *hint.Hearing
}

// record learns from a call that has ended, and records it.
func (r *recorder) record(c bridge.Record) {
	r.learn(c)
	r.heard.Habits.Record(c.ID, c.Value)
	r.heard.Partials.Add(c)
	if r.o.Vault != nil && r.o.Redact.On() && len(c.Result) > 0 {
		r.o.Vault.Saw(r.owner, c.Server, c.Result)
	}
	if r.o.Observer != nil {
		r.o.Observer.Recorded(c.Server, c.Class.String(), string(c.Status), c.Decision, c.Duration)
	}
	if r.o.Audit == nil {
		return
	}
	r.o.Audit.Record(state.Call{
		ExecutionID: r.id, Seq: c.Seq, Server: c.Server, Tool: c.Tool, ID: c.ID,
		Started: c.Started, Duration: c.Duration, Waited: c.Waited, Line: c.Line, Status: string(c.Status), Error: c.Error,
		Class: c.Class.String(), Decision: c.Decision,
		ArgBytes: int64(len(c.Args)), ResultBytes: int64(c.ResultBytes), Args: c.Args, Result: c.Result,
	})
}

// learn merges the result of a call into the type of its tool, and notes where it differs from all
// earlier results.
func (r *recorder) learn(c bridge.Record) {
	if r.o.Learned == nil || c.Status != bridge.StatusOK {
		return
	}
	t := c.Resolved
	if t == nil || !r.catalog.Learns(t) {
		return
	}
	for _, d := range r.o.Learned.Observe(t.Server, t.OwnName(), c.Args, c.Value) {
		note := t.ID + ": " + d
		if r.heard.Drifts.Add(note) && r.o.Audit != nil {
			r.o.Audit.Note(state.Event{Kind: state.EventDrift, Server: t.Server, Detail: note})
		}
	}
}
