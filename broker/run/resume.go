package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/run/approve"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// load continues a run that was interrupted.
func (g *runJournal) load(run state.Run, calls []state.RunCall, j state.RunJournal) {
	g.run, g.store = run, j
	g.rows, g.lastOrdinal, g.lastSettled, g.carriedOver = make(map[int]*state.RunCall), 0, 0, nil
	g.truncatePending = g.x.earlier.codeChanged || run.Plan != ""
	for _, c := range slices.Backward(calls) {
		g.lastSettled = max(g.lastSettled, c.Settled)
		g.notePlanned(&c, c.Value)
		if c.Ordinal < 0 {
			if c.State != state.RunUsed {
				g.carriedOver = append(g.carriedOver, c)
			}
			continue
		}
		row := c
		row.Value = nil // the sandbox has it
		g.rows[c.Ordinal] = &row
		g.lastOrdinal = max(g.lastOrdinal, c.Ordinal)
	}
}

const unknownRun = "unknown run: it does not exist, is older than 7 days, or belongs to another client or profile. 0 tools called"

// resume continues an earlier run.
func (x *Execution) resume(ctx context.Context) Answer {
	if x.o.Runs == nil {
		return refusal("this broker keeps no journals: run the script again, without resume. 0 tools called")
	}
	run, calls, j, err := x.o.Runs.Resume(ctx, x.Request.Owner, strings.TrimSpace(x.Request.Resume))
	switch {
	case errors.Is(err, state.ErrNotFound):
		return refusal(unknownRun)
	case errors.Is(err, state.ErrRunning):
		return refusal("the run is being executed at this moment: wait for its answer. 0 tools called")
	case err != nil:
		return refusal("the journal cannot be read: " + err.Error() + ". 0 tools called")
	}
	if run.Profile != x.o.Profile || !bytes.Equal(run.Narrowed, x.o.Narrowed) {
		x.journal = &runJournal{x: x, resumed: true}
		x.journal.load(run, calls, j)
		x.journal.release()
		return refusal(unknownRun)
	}
	answer, recorded := x.resumable(ctx, &run, calls)
	x.journal = &runJournal{x: x, resumed: true}
	x.journal.load(run, calls, j)
	if answer != nil {
		x.journal.release()
		return *answer
	}
	x.earlier.calls = recorded
	x.Request.Language, x.Request.Timeout = run.Language, cmp.Or(x.Request.Timeout, run.Timeout)
	return x.start(ctx)
}

// resumable prepares the calls of a run to repeat, or returns the answer with the
// reason it cannot be resumed.
func (x *Execution) resumable(ctx context.Context, run *state.Run, calls []state.RunCall) (*Answer, []sandbox.Recorded) {
	refuse := func(format string, args ...any) (*Answer, []sandbox.Recorded) {
		a := refusal(fmt.Sprintf(format, args...) + "\n0 tools called")
		return &a, nil
	}
	code := x.Request.Code
	x.earlier.codeChanged = strings.TrimSpace(code) != "" && code != run.Code
	if !x.earlier.codeChanged {
		x.Request.Code = run.Code
	}
	lost, asked, decided := 0, 0, false
	for i := range calls {
		c := &calls[i]
		lost += boolInt(c.Lost())
		asked += boolInt(c.State == state.RunAsked)
		decided = decided || c.State == state.RunApproved || c.State == state.RunFailed && c.By != ""
	}
	switch {
	case run.Plan == state.PlanMaking:
		return refuse("the script was broken off while its plan was made. Nothing was written: run it again with plan")
	case lost > 0:
		a := x.waits(*run, slices.DeleteFunc(slices.Clone(calls), func(c state.RunCall) bool { return !c.Lost() }))
		a.Hint = fmt.Sprintf("find out whether it was done, ask the user to run: broker runs settle %s N --done (or --retry, to send it again), then resume", run.ID)
		if x.Request.Shell {
			a.Hint = fmt.Sprintf("find out whether it was done, then: broker runs settle %s N --done (or --retry, to send it again), and broker runs resume %s", run.ID, run.ID)
		}
		return &a, nil
	case asked > 0 && run.Expired(time.Now()):
		run.Status, run.ExitCode, run.Error = state.StatusFailed, sandbox.ExitThrew, "nobody decided in time"
		a := refusal("the run has expired, since nobody decided in time: " + approve.Summary(calls))
		a.ExitCode = sandbox.ExitThrew
		return &a, nil
	case asked > 0 && !decided && !x.earlier.codeChanged:
		a := x.waits(*run, state.Pending(calls))
		return &a, nil
	case run.Status == state.StatusDone && !x.earlier.codeChanged:
		return refuse("the run has ended with exit code 0: there is nothing to resume. Give new code with resume to go on from what it wrote")
	}
	if x.earlier.codeChanged {
		run.Code = code
	}
	if run.Full {
		if !x.earlier.codeChanged {
			return refuse("the run has over 32 MiB of results, and cannot be repeated: %s", approve.Summary(calls))
		}
		return nil, nil
	}
	return x.recordings(ctx, calls)
}

// recordings returns the calls of a run for a sandbox to repeat. Calls after a tool that has
// changed since cannot be repeated.
func (x *Execution) recordings(ctx context.Context, calls []state.RunCall) (*Answer, []sandbox.Recorded) {
	var list []sandbox.Recorded
	full, _ := x.e.catalog.Both()
	for i := range calls {
		c := &calls[i]
		if c.Ordinal < 0 {
			continue
		}
		why := ""
		if c.Ordinal != len(list)+1 {
			why = fmt.Sprintf("call %d is not in the journal", len(list)+1)
		} else if t, ok := full.Tool(c.Tool); ok && c.Settled > 0 && callsTool(c.Func) && c.Pin != "" && x.e.toolPins.of(t) != c.Pin {
			why = fmt.Sprintf("%s has changed since call %d", c.Tool, c.Ordinal)
		}
		r, err := x.o.recorded(ctx, x.owner(), c)
		if err != nil {
			why = err.Error()
		}
		if why != "" && x.earlier.codeChanged {
			break
		}
		if why != "" {
			a := refusal("the run cannot be repeated: " + why + ". " + approve.Summary(calls) + "\n0 tools called")
			return &a, nil
		}
		list = append(list, r)
	}
	return nil, list
}

// recall records the earlier calls of the run for the policy.
func (x *Execution) recall(ctx context.Context) {
	for _, c := range x.earlier.calls {
		if of, get := strings.CutSuffix(c.Func, ".get"); get && c.Error == nil {
			if err := x.origins.read(ctx, of, c.Target, c.Value); err != nil {
				x.e.log.Warn("read origin", "execution", x.id, "err", err)
			}
		}
		if !callsTool(c.Func) || c.Answered == 0 || c.Error != nil && !bridge.ReachedServer(c.Error.Fields) {
			continue
		}
		if t, ok := x.e.catalog.Find(c.Target); ok {
			value := c.Value
			if c.Error != nil {
				value = gate.Compact(c.Error.Message)
			}
			x.bridge.Recall(t, value)
		}
	}
}

// waits returns the answer of a run that waits for a person.
func (x *Execution) waits(run state.Run, calls []state.RunCall) Answer {
	a := Answer{
		ExitCode: sandbox.ExitApproval, RunID: run.ID, ToolsCalled: []bridge.Row{}, DurationMS: time.Since(x.started).Milliseconds(),
		Hint: fmt.Sprintf("a person must decide first: ask the user to run: broker approvals approve %s (or deny), then call execute_code with {\"resume\": %q}", run.ID, run.ID),
	}
	if x.Request.Shell {
		a.Hint = fmt.Sprintf("decide: broker approvals approve %s (or deny); then: broker runs resume %s", run.ID, run.ID)
	}
	if x.bridge != nil {
		a.ToolsCalled = bridge.Rows(x.bridge.Records())
	}
	if !run.Expires.IsZero() {
		a.Expires = run.Expires.UTC().Format(time.RFC3339)
	}
	for _, c := range calls {
		a.Pending = append(a.Pending, approve.PendingOf(c))
	}
	var text strings.Builder
	fmt.Fprintf(&text, "run %s waits for a person:", run.ID)
	for _, p := range a.Pending {
		fmt.Fprintf(&text, "\n%s", p)
	}
	a.Diagnostics = gate.Cut(text.String(), approve.MaxChars)
	return a
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pending returns the calls that wait for a decision.
func (g *runJournal) pending() []state.RunCall {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []state.RunCall
	for _, row := range g.rows {
		if row.State == state.RunAsked {
			list = append(list, *row)
		}
	}
	slices.SortFunc(list, func(a, b state.RunCall) int { return a.Ordinal - b.Ordinal })
	return list
}

// end records how a run ended.
func (g *runJournal) end(status string, res sandbox.Result) error {
	run := g.run
	run.Status, run.ExitCode, run.Error, run.Expires = status, res.ExitCode, firstLine(redact.Cut(res.Error, state.MaxError)), time.Time{}
	if status == state.StatusWaiting {
		run.Expires = time.Now().Add(state.PendingAge)
	}
	g.run = run
	return g.release()
}

// release ends this process's use of the run, which stays as g.run says.
func (g *runJournal) release() error {
	if g == nil {
		return nil
	}
	err := g.store.End(g.run)
	if err != nil {
		g.x.e.log.Error("write journal", "run", g.run.ID, "err", err)
	}
	return err
}

// hint describes how to continue after a failure without repeating writes.
func (g *runJournal) hint() string {
	n := 0
	for _, row := range g.rows {
		if row.Changes() && (row.State == state.RunDone || row.Lost()) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	calls, them := "1 call that writes was made", "it"
	if n > 1 {
		calls, them = fmt.Sprintf("%d calls that write were made", n), "them"
	}
	if g.x.Request.Shell {
		return fmt.Sprintf("%s: to continue without repeating %s: broker runs resume %s --code FILE, with the corrected script", calls, them, g.run.ID)
	}
	return fmt.Sprintf("%s: to continue without repeating %s, give the corrected code with resume: %q", calls, them, g.run.ID)
}
