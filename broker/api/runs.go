package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/state"
)

// Runs is a list of runs.
type Runs struct {
	Runs List[state.Run] `json:"runs"`
}

// A Run is one with its calls, as people are shown them.
type Run struct {
	Run   state.Run     `json:"run"`
	Calls List[RunCall] `json:"calls"`
}

// A RunCall is one call of a run.
type RunCall struct {
	broker.PendingCall
	// Line is the line of the script that made the call, from 1; 0 if it is not known.
	Line  int    `json:"line,omitempty"`
	Class string `json:"class,omitempty"`
	By    string `json:"decided_by,omitempty"`
	Used  bool   `json:"reused,omitempty"`
	// Digest identifies the call for its approval. It is empty for a call that is cut,
	// which cannot be approved.
	Digest string `json:"digest,omitempty"`
}

// RunCallOf returns a call of a principal's journal. A call that waits for a decision
// is shown as by Asked, with its tokens described. Unless whole is set, a long one is
// cut and cannot be approved. Other calls are cut and redacted.
func RunCallOf(c state.RunCall, principal string, tokens Tokens, whole bool) RunCall {
	pending := broker.PendingOf(c)
	if c.State == state.RunAsked {
		asked := c
		if tokens != nil {
			asked.Args = tokens.Describe(principal, c.Args)
		}
		if pending = broker.Asked(asked); !whole {
			pending = pending.Cut()
		}
	}
	shown := RunCall{PendingCall: pending, Line: c.Line, Class: c.Class, By: gate.Cut(gate.Line(c.By), 100), Used: c.Reused}
	shown.State = c.State
	if c.Lost() {
		shown.State = state.RunUnknown
	}
	if c.State == state.RunAsked && pending.Bytes == 0 {
		shown.Digest = ShownDigest(c)
	}
	return shown
}

// ShownDigest identifies a call for a person who was shown all of it.
func ShownDigest(c state.RunCall) string { return c.Digest() + c.Pin }

// Run finds a run by a prefix of its id; the error for an unknown one is
// state.ErrNotFound. Its script is redacted, and its waiting calls are complete if
// whole is set.
func (r *Reader) Run(ctx context.Context, id string, whole bool) (Run, error) {
	run, calls, err := r.Runs.Run(ctx, id)
	if err != nil {
		return Run{}, err
	}
	lines := strings.Count(run.Code, "\n")
	run.Code = redact.Text(run.Code)
	moved := strings.Count(run.Code, "\n") != lines
	shown := Run{Run: run}
	for _, c := range calls {
		if c.State == state.RunUsed { // another row is in its place
			continue
		}
		if moved || c.Line > lines+1 { // a wrong line is worse than none
			c.Line = 0
		}
		shown.Calls = append(shown.Calls, RunCallOf(c, run.Principal, r.Tokens, whole))
	}
	return shown, nil
}

// Waiting are the runs that wait for a decision, the latest first.
func (r *Reader) Waiting(ctx context.Context) (Runs, error) {
	return r.withStatus(ctx, state.StatusWaiting)
}

// Undone are the runs that wait for a decision, and those that wait to be resumed after
// one, the latest first.
func (r *Reader) Undone(ctx context.Context) (Runs, error) {
	return r.withStatus(ctx, state.StatusWaiting, state.StatusDecided)
}

func (r *Reader) withStatus(ctx context.Context, statuses ...string) (Runs, error) {
	list, err := r.Runs.Runs(ctx, -1)
	return Runs{slices.DeleteFunc(list, func(r state.Run) bool {
		return !slices.Contains(statuses, r.Status) || r.Expired(time.Now())
	})}, err
}

// ErrNothingWaits means that a run has no such call that waits for a decision.
var ErrNothingWaits = errors.New("no such call waits for a decision")

// A DeniedError is the refusal of an approval: the policy denies the call whatever a
// person decides.
type DeniedError struct {
	Call int // its ordinal
	Tool string
	Err  error // the error that the script would get
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("call %d cannot be approved: %s", e.Call, gate.Quote(e.Err.Error(), maxRefusal))
}

func (e *DeniedError) Unwrap() error { return e.Err }

// maxRefusal bounds the text of a refusal, in bytes.
const maxRefusal = 500

// refusal returns a DeniedError for the first call that the policy denies, or nil.
func (r *Reader) refusal(run state.Run, calls []state.RunCall) error {
	if r.Broker == nil {
		return nil
	}
	for _, c := range calls {
		if err := r.Broker.Refusal(run, c); err != nil {
			return &DeniedError{c.Ordinal, c.Tool, err}
		}
	}
	return nil
}

// Decide applies a verdict to the waiting calls of a run, and returns them. Calls that the policy
// denies are not approved (DeniedError). may is called with exactly these calls. If it returns an
// error, or if a call changes in the meantime, nothing is changed.
func (r *Reader) Decide(ctx context.Context, id string, v state.Verdict, may func(state.Run, []state.RunCall) error) ([]state.RunCall, error) {
	run, calls, err := r.Runs.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	meant := slices.DeleteFunc(state.Pending(calls), func(c state.RunCall) bool { return len(v.Only) > 0 && !slices.Contains(v.Only, c.Ordinal) })
	if len(meant) == 0 {
		return nil, ErrNothingWaits
	}
	if v.Approve {
		if err := r.refusal(run, meant); err != nil {
			return nil, err
		}
	}
	if err := may(run, meant); err != nil {
		return nil, err
	}
	v.Only = nil
	for _, c := range meant {
		v.Only = append(v.Only, c.Ordinal)
	}
	return meant, r.Runs.Change(ctx, run.ID, func(r *state.Run, calls []state.RunCall) error {
		for _, was := range meant {
			i := slices.IndexFunc(calls, func(c state.RunCall) bool { return c.Ordinal == was.Ordinal })
			if i < 0 || calls[i].Digest() != was.Digest() || calls[i].Pin != was.Pin {
				return errors.New("the calls have changed in the meantime: look at them again")
			}
		}
		return v.Decide(r, calls, time.Now())
	})
}
