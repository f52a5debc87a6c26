package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// maxRounds is how often the client of one execution is asked: some end the
	// tenth round with an error.
	maxRounds = 8
	// decideTime is how long a person at the client may take.
	decideTime = 5 * time.Minute
	// maxAskChars is how much of the calls a question shows.
	maxAskChars = 4_000
)

// The answers to the question. A form without an answer decides nothing.
const (
	approveOnce = "approve once"
	approveRun  = "approve for this run"
	denyCalls   = "deny"
	stopRun     = "stop"
)

// Denied is the error that a script gets for a call that a person has denied, as
// JSON.
func Denied(c state.RunCall) json.RawMessage {
	server, tool, _ := strings.Cut(c.Tool, "__")
	e := &bridge.Error{Server: server, Tool: tool, Code: bridge.CodeDenied, Message: c.Tool + " was denied by the user",
		Hint: "go on without it, or ask the user what to do instead"}
	b, _ := json.Marshal(&sandbox.CallError{Name: "ToolError", Message: e.Message, Fields: e.Fields()}) // its fields are JSON
	return b
}

var errStopped = errors.New("the user stopped the run")

// decide asks the person at the client about all calls that wait, and goes on with
// the journal if there is an answer. Otherwise the run waits. The script does not
// run meanwhile.
func (x *Execution) decide(ctx context.Context, round int, pending []state.RunCall) (again bool, err error) {
	if x.Request.Talker == nil || !x.Request.Talker.Capabilities().Form || round >= maxRounds {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, decideTime)
	defer cancel()
	answer, err := x.Request.Talker.Answer(ctx, question(pending))
	result, ok := answer.(*mcp.ElicitResult)
	if err != nil || !ok || result.Action != "accept" {
		return false, nil
	}
	v := state.Verdict{By: "form: " + x.Request.Client, Denied: Denied}
	switch result.Content["decision"] {
	case approveOnce, approveRun:
		v.Approve, v.ForRun = true, result.Content["decision"] == approveRun
	case denyCalls, stopRun:
	default:
		return false, nil
	}
	id := x.journal.run.ID
	for _, c := range pending {
		v.Only = append(v.Only, c.Ordinal)
	}
	err = x.o.Runs.Change(ctx, id, func(r *state.Run, calls []state.RunCall) error { return v.Decide(r, calls, time.Now()) })
	if err != nil { // somebody else has decided, or time was up
		x.e.log.Warn("approve calls", "run", id, "err", err)
		return false, nil
	}
	run, calls, j, err := x.o.Runs.Resume(ctx, x.Request.Owner, id)
	if err != nil {
		return false, nil
	}
	x.changed, x.Request.Code = false, run.Code
	if result.Content["decision"] == stopRun {
		run.Status, run.ExitCode, run.Error = state.StatusFailed, sandbox.ExitThrew, errStopped.Error()
		return false, errors.Join(fmt.Errorf("%w: %s", errStopped, Summary(calls)), j.End(run))
	}
	x.journal.mu.Lock()
	x.journal.load(run, calls, j)
	x.journal.mu.Unlock()
	refused, recorded := x.recordings(ctx, calls)
	if refused != nil {
		x.journal.end(state.StatusWaiting, sandbox.Result{ExitCode: sandbox.ExitApproval})
		return false, nil
	}
	x.repeat = recorded
	return true, nil
}

// question is the form about calls.
func question(pending []state.RunCall) *mcp.ElicitParams {
	var text strings.Builder
	fmt.Fprintf(&text, "The script wants to make %d calls that need your approval.\n", len(pending))
	if len(pending) == 1 {
		text.Reset()
		text.WriteString("The script wants to make a call that needs your approval.\n")
	}
	for i, c := range pending {
		p := PendingOf(c)
		line := fmt.Sprintf("\n%d. %s (it %s)\n   %s", p.N, p.Tool, p.Why, p.Args)
		if text.Len()+len(line) > maxAskChars {
			fmt.Fprintf(&text, "\n… and %d more", len(pending)-i)
			break
		}
		text.WriteString(line)
	}
	return &mcp.ElicitParams{
		Message: text.String(),
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["` +
			strings.Join([]string{approveOnce, approveRun, denyCalls, stopRun}, `","`) + `"]}},"required":["decision"]}`),
	}
}
