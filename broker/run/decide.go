package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/run/approve"
	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// decideTime bounds the time of a person at the client to decide.
const decideTime = 5 * time.Minute

var errStopped = errors.New("the user stopped the run")

// newAsker returns what asks the person at the client of x.
func (o *Options) newAsker(x *Execution) *approve.Asker {
	a := &approve.Asker{Talker: x.Request.Talker, Client: x.Request.Client, Note: x.Note}
	if x.Request.Owner == state.Local {
		a.Always = o.Always
	}
	if o.Vault != nil {
		a.Describe = func(args json.RawMessage) json.RawMessage {
			if !vault.HasTokens(args) {
				return args
			}
			return o.Vault.Describe(x.owner(), args)
		}
	}
	return a
}

// approve asks about a call that cannot wait for a later decision; the script waits meanwhile.
func (x *Execution) approve(ctx context.Context, t *discovery.Tool, args json.RawMessage, d policy.Decision) (bool, error) {
	defer sandbox.Pause(ctx)()
	c := state.RunCall{Tool: t.ID, Args: args, Why: d.Reason, Code: d.Code}
	return x.asker.Once(ctx, c, func(v state.Verdict, calls []state.RunCall) {
		if x.o.Audit == nil {
			return
		}
		id := x.id
		if x.journal != nil {
			id = x.journal.run.ID
		}
		x.o.Audit.Note(v.Event(id, calls))
	})
}

// decide asks about all waiting calls while the script does not run. It reports whether the run
// continues from the journal; otherwise the run waits.
func (x *Execution) decide(ctx context.Context, pending []state.RunCall) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, decideTime)
	defer cancel()
	began := time.Now()
	verdicts, stopped := x.asker.All(ctx, pending)
	if len(verdicts) == 0 {
		return false, nil
	}
	if o, ok := x.o.Observer.(interface{ Decided(took time.Duration) }); ok {
		o.Decided(time.Since(began))
	}
	id := x.journal.run.ID
	err = x.o.Runs.Change(ctx, id, func(r *state.Run, calls []state.RunCall) error {
		for _, v := range verdicts {
			if err := v.Decide(r, calls, time.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // somebody else decided, or the time was up
		x.e.log.Warn("approve calls", "run", id, "err", err)
		return false, nil
	}
	for _, v := range verdicts {
		if x.o.Audit != nil {
			x.o.Audit.Note(v.Event(id, slices.DeleteFunc(slices.Clone(pending), func(c state.RunCall) bool { return !slices.Contains(v.Only, c.Ordinal) })))
		}
	}
	run, calls, j, err := x.o.Runs.Resume(ctx, x.Request.Owner, id)
	if err != nil {
		return false, nil
	}
	x.earlier.codeChanged, x.Request.Code = false, run.Code
	if stopped {
		run.Status, run.ExitCode, run.Error = state.StatusFailed, sandbox.ExitThrew, errStopped.Error()
		return false, errors.Join(fmt.Errorf("%w: %s", errStopped, approve.Summary(calls)), j.End(run))
	}
	x.journal.mu.Lock()
	x.journal.load(run, calls, j)
	x.journal.mu.Unlock()
	refused, recorded := x.recordings(ctx, calls)
	if refused != nil {
		x.journal.end(state.StatusWaiting, sandbox.Result{ExitCode: sandbox.ExitApproval})
		return false, nil
	}
	x.earlier.calls = recorded
	if run.Plan != "" { // the calls that it counted were not made
		x.bridge.Forget()
		x.recall(ctx)
	}
	return true, nil
}
