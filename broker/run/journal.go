package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/internal/results"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// A runJournal is the journal of one execution. It records every call: its intent before it is
// sent, if it may change something, and its outcome before the script gets it. It implements
// bridge.Journal.
type runJournal struct {
	x     *Execution
	store state.RunJournal
	run   state.Run

	mu              sync.Mutex
	rows            map[int]*state.RunCall
	lastOrdinal     int // the highest ordinal
	lastSettled     int // the highest position among the outcomes
	carriedOver     []state.RunCall
	truncatePending bool // the calls of the earlier script are not in carriedOver yet
	resumed         bool // it continues an earlier run
	err             error
	reused          []Reused
	replayedCalls   int // how many of them have an outcome
	plan            plan
	answering       map[*state.RunCall]state.RunCall // entries of carriedOver that answer calls right now
}

// A Reused is a call that was answered with the outcome of the same call of the earlier script.
type Reused struct {
	N    int    `json:"n"`
	Tool string `json:"tool"`
}

// beginJournal begins a journal. It writes nothing before the first call.
func (x *Execution) beginJournal(lang sandbox.Language) {
	run := state.Run{
		Plan: map[bool]string{true: state.PlanMaking}[x.Request.Plan],
		ID:   state.NewRunID(), Principal: x.Request.Owner, Profile: x.o.Profile, Narrowed: x.o.Narrowed, Client: x.Request.Client, ClientInfo: x.Request.ClientInfo, Language: string(lang), Code: x.Request.Code,
		Timeout: x.Request.Timeout, Seed: make([]byte, 32), Epoch: x.started, Started: x.started,
	}
	_, _ = rand.Read(run.Seed) // never fails
	x.journal = &runJournal{x: x, run: run, store: x.o.Runs.Begin(run), rows: make(map[int]*state.RunCall)}
}

// sandbox returns the journal for a runner; calls are those to repeat.
func (g *runJournal) sandbox(calls []sandbox.Recorded, lenient bool) *sandbox.Journal {
	return &sandbox.Journal{Seed: g.run.Seed, Epoch: g.run.Epoch.UnixMicro(), Calls: calls, Lenient: lenient || g.run.Plan != "", Made: g.made, Replayed: g.replayed}
}

// effects are the host functions other than reads; the value reports whether they can be repeated
// safely.
var effects = map[string]bool{"store.set": true, "store.delete": true, "skills.call": false}

// made implements sandbox.Journal.Made.
func (g *runJournal) made(c sandbox.Call) func(json.RawMessage, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	row := g.rows[c.Seq]
	if row == nil {
		g.truncate(c.Seq - 1)
		row = g.add(c, c.Seq)
	}
	return func(value json.RawMessage, err error) { g.recordAnswer(row, value, err) }
}

// add adds a new call; g.mu must be held.
func (g *runJournal) add(c sandbox.Call, ordinal int) *state.RunCall {
	row := &state.RunCall{Ordinal: ordinal, Func: c.Func, Tool: sandbox.ShownTarget(c.Target), Args: c.Args, Line: c.Line, State: state.RunMade, Steps: c.Steps, Made: time.Now()}
	if row.Tool != c.Target {
		row.Target = c.Target
	}
	if !c.CallsTool() {
		row.Class = policy.Read.String()
		if harmless, ok := effects[c.Func]; ok {
			row.Class, row.Idempotent = policy.Unknown.String(), harmless
		}
	}
	g.rows[ordinal] = row
	g.lastOrdinal = max(g.lastOrdinal, ordinal)
	_ = g.put(*row, false)
	return row
}

// put stores a call, and logs an error; g.mu must be held.
func (g *runJournal) put(row state.RunCall, wait bool) error {
	err := g.store.Record(row, wait)
	if err != nil && !errors.Is(err, state.ErrNotApproved) {
		g.x.e.log.Error("write journal", "run", g.run.ID, "err", err)
	}
	return err
}

type positionKey struct{}

// A callPosition is the position of a call in the journal.
type callPosition struct {
	row *state.RunCall
	seq int // the runner's number of the call; 0 if it does not number calls
}

// enter returns the journal's entry for a host call. It creates one for a runner that does not
// number its calls; the caller then records the answer.
func (g *runJournal) enter(ctx context.Context, c sandbox.Call) (context.Context, *state.RunCall, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	row := g.rows[c.Seq]
	if c.Seq == 0 || row == nil {
		g.truncatePending, g.resumed = g.truncatePending || g.resumed, false // this runner repeats nothing
		g.truncate(0)
		row = g.add(c, g.lastOrdinal+1)
	}
	ctx = context.WithValue(ctx, positionKey{}, callPosition{row, c.Seq})
	if c.CallsTool() || !row.Changes() {
		return ctx, row, nil
	}
	return ctx, row, g.recordIntent(row)
}

// recordIntent records that a call is about to be sent; g.mu must be held.
func (g *runJournal) recordIntent(row *state.RunCall) error {
	switch {
	case g.err != nil:
		return journalError(g.err)
	case row.Lost():
		return &bridge.Error{Code: bridge.CodeUnavailable,
			Message: fmt.Sprintf("call %d of %s was sent before, and its outcome is not known", row.Ordinal, row.Tool)}
	}
	was := row.State
	row.State = state.RunIntent
	err := g.put(*row, true)
	switch {
	case errors.Is(err, state.ErrNotApproved): // it has just expired, or was denied
		return g.withhold(row)
	case err != nil:
		row.State = was
		return journalError(err)
	}
	return nil
}

func journalError(err error) error {
	return &bridge.Error{Code: bridge.CodeUnavailable, Message: "the call was not sent, because the journal cannot be written: " + err.Error(),
		Hint: "run: broker doctor"}
}

// withhold marks a call as waiting for the decision of a person; g.mu must be held.
func (g *runJournal) withhold(row *state.RunCall) error {
	row.State, row.By, row.Expires = state.RunAsked, "", time.Time{}
	_ = g.put(*row, false) // the end of the run waits for it
	return bridge.ErrWithheld
}

// recordAnswer records the outcome of a call, before the script gets it.
func (g *runJournal) recordAnswer(row *state.RunCall, value json.RawMessage, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.planning() && row.Plan > 0 {
		return
	}
	g.lastSettled++
	row.Settled = g.lastSettled
	sent := row.State == state.RunIntent
	stored := *row
	if err != nil {
		failure := &sandbox.CallError{Message: err.Error()}
		if e, ok := errors.AsType[*sandbox.CallError](err); ok {
			failure = e
		}
		stored.State = state.RunFailed
		stored.Failure, _ = json.Marshal(failure) // its fields are valid JSON
		if sent && mayHaveRun(failure) {
			stored.State = state.RunUnknown
		}
	} else {
		stored.State, stored.Value = state.RunDone, value
		if len(value) > state.MaxRunValue {
			if stored.Ref = g.x.results.Put(state.JSON, value); stored.Ref != "" {
				stored.Value = nil
			}
		}
	}
	_ = g.put(stored, sent) // the call was made in any case
	row.State, row.Failure = stored.State, stored.Failure
	g.notePlanned(row, value)
	if was, ok := g.answering[row]; ok {
		delete(g.answering, row)
		g.markUsed(was) // after its answer is stored: a call may be carried over twice, but must not be lost
	}
}

// mayHaveRun reports whether the cause of a script's error is a *bridge.Error with
// MayHaveRun set.
func mayHaveRun(failure *sandbox.CallError) bool {
	var e bridge.Error
	return json.Unmarshal(failure.Fields, &e) == nil && e.MayHaveRun
}

// replayed implements sandbox.Journal.Replayed: n calls of earlier runs were repeated.
func (g *runJournal) replayed(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := 1; i <= n; i++ {
		if row := g.rows[i]; row != nil && row.Settled > 0 {
			g.replayedCalls++
		}
	}
	g.truncate(n)
}

// truncate moves the calls of the earlier script after the first n from the journal to
// carriedOver. It does so only while truncatePending is set, which it clears. g.mu must be held.
func (g *runJournal) truncate(n int) {
	if !g.truncatePending {
		return
	}
	g.truncatePending = false
	g.carriedOver, g.err = g.store.Cut(n)
	for i := range g.rows {
		if i > n {
			delete(g.rows, i)
		}
	}
	g.lastOrdinal = n
	slices.SortFunc(g.carriedOver, func(a, b state.RunCall) int { return b.Ordinal - a.Ordinal }) // in the order of their making, from the end
}

// positionOf returns the position of the tool call that ctx belongs to. Calls made by a skill have
// none.
func positionOf(ctx context.Context) (p callPosition, ok bool) {
	p, ok = ctx.Value(positionKey{}).(callPosition)
	return p, ok && callsTool(p.row.Func)
}

// Known implements bridge.Journal: a write that an earlier version of the script made is not made
// again.
func (g *runJournal) Known(ctx context.Context, a bridge.Attempt) *bridge.Known {
	p, ok := positionOf(ctx)
	if !ok {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	row := p.row
	if row.Tool != a.Tool.ID {
		row.Target, row.Tool = cmp.Or(row.Target, row.Tool), a.Tool.ID
	}
	row.Class = a.Class.String()
	row.Idempotent = a.Tool.Annotations.Idempotent != nil && *a.Tool.Annotations.Idempotent
	if len(g.carriedOver) == 0 || row.State != state.RunMade || !row.Changes() && g.x.earlier.codeChanged {
		return nil
	}
	digest := row.Digest()
	i := slices.IndexFunc(g.carriedOver, func(c state.RunCall) bool {
		c.Args = g.plan.fill(c)
		return c.State != state.RunApproved && c.State != state.RunMade && c.Digest() == digest
	})
	if i < 0 {
		return nil
	}
	was := g.carriedOver[i]
	g.carriedOver = slices.Delete(g.carriedOver, i, i+1)
	if g.answering == nil {
		g.answering = make(map[*state.RunCall]state.RunCall)
	}
	g.answering[row] = was
	if row.Reused, row.Pin = true, was.Pin; row.Changes() {
		row.State = state.RunIntent // its outcome follows at once
		if was.State != state.RunFailed || was.By == "" {
			g.reused = append(g.reused, Reused{row.Ordinal, row.Tool})
		}
	} else {
		g.replayedCalls++
	}
	recorded, err := g.x.o.recorded(ctx, g.x.owner(), &was)
	known := &bridge.Known{Value: recorded.Value, Err: err}
	if err == nil && recorded.Error != nil {
		known.Err, known.ReachedServer = &recordedError{recorded.Error}, bridge.ReachedServer(recorded.Error.Fields)
	}
	return known
}

// A recordedError is an error of an earlier run, as the script got it.
type recordedError struct{ *sandbox.CallError }

// Asked implements bridge.Journal.
func (g *runJournal) Asked(ctx context.Context, a bridge.Attempt, d policy.Decision) error {
	p, ok := positionOf(ctx)
	if !ok || p.seq == 0 { // nothing could be replayed
		return bridge.ErrNobody
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	row, pin := p.row, g.x.e.toolPins.of(a.Tool)
	may := g.permitted(row, pin)
	if !may {
		row.Pin, row.Why, row.Code = pin, d.Reason, d.Code
	}
	if may || g.planning() {
		return nil
	}
	return g.withhold(row)
}

// Sending implements bridge.Journal.
func (g *runJournal) Sending(ctx context.Context, a bridge.Attempt) error {
	p, ok := positionOf(ctx)
	if !ok {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.planning() {
		return g.planned(p, a)
	}
	pin := g.x.e.toolPins.of(a.Tool)
	switch {
	case g.run.Plan == "":
	case a.Class == policy.Read:
		g.take(p.row, state.RunMade, pin)
	case !g.permitted(p.row, pin):
		p.row.Pin, p.row.Why, p.row.Code = pin, "is not in the plan that was approved", ""
		return g.withhold(p.row)
	}
	p.row.Pin = pin
	if !p.row.Changes() && p.row.State == state.RunMade {
		return nil
	}
	return g.recordIntent(p.row)
}

func callsTool(f string) bool { return sandbox.Call{Func: f}.CallsTool() }

// recorded returns a call for a sandbox to repeat.
func (o *Options) recorded(ctx context.Context, owner string, c *state.RunCall) (sandbox.Recorded, error) {
	r := sandbox.Recorded{Func: c.Func, Target: cmp.Or(c.Target, c.Tool), Args: sandbox.HashArgs(c.Args), Answered: c.Settled, Value: c.Value, Steps: c.Steps}
	if c.Failure != nil {
		r.Error = new(sandbox.CallError)
		if err := json.Unmarshal(c.Failure, r.Error); err != nil {
			return r, err
		}
	}
	if c.Ref != "" {
		if o.Results == nil {
			return r, errNoStore
		}
		_, value, err := results.Get(ctx, o.Results, owner, c.Ref)
		if err != nil {
			return r, fmt.Errorf("the value of call %d, of %s: %w", c.Ordinal, c.Tool, err)
		}
		r.Value = value
	}
	return r, nil
}
