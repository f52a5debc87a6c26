package state

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Runs keeps the journals of runs: every call with its intent before it leaves,
// and its result, so that a run that was broken off can be replayed and go on. It
// is safe for concurrent use, by several processes too.
type Runs interface {
	// Begin returns the journal of a new run. Nothing is kept of a run that never
	// records a call.
	Begin(r Run) RunJournal
	// Resume takes over a run that is not being executed, for its principal, with its
	// calls in the order of their ordinals. Of concurrent calls one succeeds; the
	// others return ErrRunning. The error for an id that is unknown, too old, or
	// another principal's is ErrNotFound.
	Resume(ctx context.Context, principal, id string) (Run, []RunCall, RunJournal, error)
	// Change calls f with a run and its calls, and keeps what f changes of them, in
	// one transaction; an error of f changes nothing. An unknown id is ErrNotFound.
	Change(ctx context.Context, id string, f func(*Run, []RunCall) error) error
}

// A RunHistory reads what Runs keep.
type RunHistory interface {
	// Runs returns runs without code, the latest first; limit is as in Filter.
	Runs(ctx context.Context, limit int) ([]Run, error)
	// Run returns the run with the given id or, if it is the only one, with an id that
	// begins with it, and its calls in order. The error for an unknown one is
	// ErrNotFound.
	Run(ctx context.Context, id string) (Run, []RunCall, error)
}

// A RunJournal records the calls of one run that this process executes. It is safe
// for concurrent use.
type RunJournal interface {
	// Record keeps c as the call of its ordinal. With wait it returns when c, and all
	// that was recorded before, is committed, and else at once: the commit follows
	// within 50 ms. What is recorded as RunIntent must not be waiting, denied or
	// expired in the journal by then (ErrNotApproved): of an approval is made use
	// once.
	Record(c RunCall, wait bool) error
	// Cut makes the calls beyond an ordinal receipts: another script takes their
	// place. Their ordinals become negative.
	Cut(after int) ([]RunCall, error)
	// End records how far the run came; its status decides whether it may be resumed. A
	// run without calls is not stored. With a status that waits, End returns after
	// everything is committed.
	End(r Run) error
}

var (
	// ErrRunning means that somebody executes the run at this moment.
	ErrRunning = errors.New("the run is being executed")
	// ErrNotApproved means that a call has no approval, or none any more.
	ErrNotApproved = errors.New("the call is not approved")
)

// StatusWaiting is the status of a run that waits for the decision of a person.
const StatusWaiting = "waiting"

// StatusDecided is the status of a run that has waited for decisions, and has them all:
// it can be resumed.
const StatusDecided = "decided"

// The states of a call of a run.
const (
	RunMade     = "made"     // the script made it; nothing that changes anything was sent
	RunAsked    = "asked"    // it waits for the decision of a person
	RunApproved = "approved" // it may be sent, once
	RunIntent   = "intent"   // it is about to be sent
	RunDone     = "done"     // it has its value
	RunFailed   = "failed"   // it has its error
	RunUnknown  = "unknown"  // sent, with an unknown outcome
	RunUsed     = "used"     // a receipt, or a call of a plan, that another call has taken the place of
)

// What a Run.Plan says.
const (
	PlanMaking = "making" // the script runs, and writes nothing
	PlanMade   = "made"   // it may be decided about, and is made when it is approved
)

// What a run may keep.
const (
	RunAge      = 7 * 24 * time.Hour
	MaxRuns     = 200
	MaxRunBytes = 32 << 20 // total of arguments, values, failures and other texts of the calls
	MaxRunValue = 1 << 20  // a larger one goes to the results
	// PendingAge is how long a call waits for a decision, ApprovalAge how long an
	// approval holds.
	PendingAge  = 24 * time.Hour
	ApprovalAge = 15 * time.Minute
)

// A Run is one execution that can be replayed.
type Run struct {
	ID string `json:"run_id"`
	// Principal owns the run: the name of a token, or Local.
	Principal string `json:"principal,omitempty"`
	// Profile is the profile of its client, or empty.
	Profile string `json:"profile,omitempty"`
	// Narrowed are further, unnamed profiles of its client, as JSON, such as the
	// restrictions of a project; empty if there are none.
	Narrowed json.RawMessage `json:"narrowed,omitempty"`
	Client   string          `json:"client,omitempty"`
	// ClientInfo is the name that the client gave when it connected, if any.
	ClientInfo string        `json:"client_info,omitempty"`
	Language   string        `json:"language,omitempty"`
	Code       string        `json:"code,omitempty"`
	Timeout    time.Duration `json:"timeout_ns,omitempty"`
	// Seed and Epoch are of its random numbers and of its clock.
	Seed  []byte    `json:"-"`
	Epoch time.Time `json:"-"`

	Started time.Time `json:"started"`
	Updated time.Time `json:"updated"`
	// Status is one of the Status constants; it is StatusInterrupted when the
	// process that executed it is gone.
	Status   string `json:"status"`
	ExitCode int    `json:"exit_code"`
	Error    string `json:"error,omitempty"`
	// Expires is until when its waiting calls can be decided about.
	Expires time.Time `json:"expires,omitzero"`
	// Granted are the tools that were approved for the whole run.
	Granted []string `json:"granted,omitempty"`
	Calls   int      `json:"calls"`
	// Plan identifies the plan that the run may carry out without further approval; it
	// may be empty.
	Plan string `json:"plan,omitempty"`
	// Full means that it has more than MaxRunBytes: it cannot be replayed.
	Full bool `json:"full,omitempty"`
}

// Expired reports whether the run can no longer be decided about at a time, which may
// be before it waited if the clock was set back.
func (r *Run) Expired(now time.Time) bool {
	return !r.Expires.IsZero() && (now.After(r.Expires) || r.Expires.Sub(now) > PendingAge+time.Minute)
}

// A RunCall is one call of a run to its host. Ordinal numbers the calls in the
// order in which the script made them, from 1; a negative one is a receipt, of an
// earlier version of the script.
type RunCall struct {
	Ordinal int `json:"n"`
	// Func is what was asked for, as in sandbox.Call; Tool the tool or other target.
	Func string `json:"func,omitempty"`
	Tool string `json:"tool"`
	// Target is what the script called the tool, where that is another name.
	Target string          `json:"target,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	// Line is the line of the script that made the call, from 1; 0 if unknown. It comes
	// from the sandbox, so it must not be used for decisions.
	Line int `json:"line,omitempty"`
	// Class is that of policy, or empty until it is known. Idempotent means that
	// sending the call twice has the same effect as sending it once.
	Class      string `json:"class,omitempty"`
	Idempotent bool   `json:"idempotent,omitempty"`
	// Pin is the digest of the tool's definition.
	Pin   string `json:"pin,omitempty"`
	State string `json:"state"`
	// Settled is its position in the order in which results were delivered, or 0.
	Settled int `json:"settled,omitempty"`
	// Value is what the script got; Ref is where a long one is kept.
	Value json.RawMessage `json:"-"`
	Ref   string          `json:"ref,omitempty"`
	// Failure is the error that the script got, as JSON.
	Failure json.RawMessage `json:"failure,omitempty"`
	// Steps is what the sandbox wants back for a replay: what was delivered before
	// the script made this call.
	Steps []byte `json:"-"`
	// Why is the reason to ask, and Code that of policy; By who decided, and how.
	Why  string `json:"why,omitempty"`
	Code string `json:"code,omitempty"`
	By   string `json:"decided_by,omitempty"`
	// Expires is until when an approval holds.
	Expires time.Time `json:"expires,omitzero"`
	Made    time.Time `json:"made"`
	// Reused means that it was answered by a receipt.
	Reused bool `json:"reused,omitempty"`
	// Plan is its number in the plan of the run, or 0; Placeholder is the value that
	// the script got then, and DependsOn the last call with a placeholder that is part
	// of Args.
	Plan        int             `json:"plan,omitempty"`
	Placeholder json.RawMessage `json:"placeholder,omitempty"`
	DependsOn   int             `json:"depends_on,omitempty"`
}

// Size returns the size of the call in its run, in bytes.
func (c *RunCall) Size() int {
	return len(c.Args) + len(c.Value) + len(c.Failure) + len(c.Placeholder) + len(c.Steps) + len(c.Tool) + len(c.Target) + len(c.Why)
}

// maxShortFailure bounds an error message in a full run, in bytes.
const maxShortFailure = 200

// Shorten drops what does not fit into a full run: arguments, values, and all but the
// beginning of an error message. The run cannot be replayed after that.
func (c *RunCall) Shorten() {
	c.Args, c.Value, c.Placeholder, c.Steps = nil, nil, nil, nil
	if len(c.Failure) <= 2*maxShortFailure {
		return
	}
	var failure struct {
		Name    string          `json:"name,omitempty"`
		Message string          `json:"message"`
		Fields  json.RawMessage `json:"fields,omitempty"`
	}
	_ = json.Unmarshal(c.Failure, &failure) // only an object has a message
	failure.Message = strings.ToValidUTF8(failure.Message[:min(len(failure.Message), maxShortFailure)], "")
	if len(failure.Fields) > 2*maxShortFailure {
		failure.Fields = nil
	}
	c.Failure, _ = json.Marshal(failure) // marshalling strings and JSON cannot fail
}

// Changes reports whether the call may change something: it is never sent again
// by itself.
func (c *RunCall) Changes() bool {
	return c.Class != "" && c.Class != "read" && !c.Idempotent
}

// Approved reports whether the call may be made at a time. One that was approved later
// than that was so before the clock was set back.
func (c *RunCall) Approved(now time.Time) bool {
	return c.State == RunApproved && now.Before(c.Expires) && c.Expires.Sub(now) <= ApprovalAge+time.Minute
}

// Lost reports whether the call was sent, and its outcome is not known.
func (c *RunCall) Lost() bool {
	return c.Changes() && (c.State == RunIntent || c.State == RunUnknown)
}

// Digest identifies what the call does: SHA-256 of its function, tool and
// arguments, whatever the order of their keys.
func (c *RunCall) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00", c.Func, c.Tool)
	h.Write(Canonical(c.Args))
	return hex.EncodeToString(h.Sum(nil))
}

// Canonical returns JSON with sorted keys and without white space. Numbers stay as
// written; invalid JSON stays unchanged.
func Canonical(raw json.RawMessage) []byte {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if len(raw) == 0 || d.Decode(&v) != nil {
		return raw
	}
	b, err := json.Marshal(v) // maps are written in order of their keys
	if err != nil {
		return raw
	}
	return b
}

// Pending returns the calls that wait for a decision.
func Pending(calls []RunCall) []RunCall {
	return slices.DeleteFunc(slices.Clone(calls), func(c RunCall) bool { return c.State != RunAsked })
}

// A Verdict is the decision of a person on calls that wait.
type Verdict struct {
	Approve bool
	// Only are ordinals; none means all that wait.
	Only []int
	// ForRun approves later calls of the same tools in this run too.
	ForRun bool
	// By is who decided, for the record.
	By string
	// Reason is why calls are denied, in the words of who decided; it may be empty.
	Reason string
	// Denied is the error that the script gets for a call, as JSON.
	Denied func(c RunCall, reason string) json.RawMessage
}

// Event is the verdict about calls of a run, for the record.
func (v Verdict) Event(run string, calls []RunCall) Event {
	e := Event{Kind: EventApproval, Name: run, Client: v.By, Detail: "denied"}
	if v.Approve {
		e.Detail = "approved"
	}
	if v.ForRun {
		e.Detail += " for this run"
	}
	for i, c := range calls {
		sep := ", "
		if i == 0 {
			sep = " "
		}
		e.Detail += fmt.Sprintf("%s%d %s", sep, c.Ordinal, c.Tool)
	}
	if v.Reason != "" {
		e.Detail += ": " + v.Reason
	}
	return e
}

// Decide applies a verdict at a time. It is for Runs.Change.
func (v Verdict) Decide(r *Run, calls []RunCall, now time.Time) error {
	if !slices.ContainsFunc(calls, func(c RunCall) bool { return c.State == RunAsked }) {
		return fmt.Errorf("run %s has no call that waits for a decision", r.ID)
	}
	if r.Expired(now) {
		return fmt.Errorf("run %s expired %s: no more of its calls are sent", r.ID, r.Expires.UTC().Format(time.RFC3339))
	}
	for _, n := range v.Only {
		if !slices.ContainsFunc(calls, func(c RunCall) bool { return c.Ordinal == n && c.State == RunAsked }) {
			return fmt.Errorf("call %d of run %s does not wait for a decision", n, r.ID)
		}
	}
	settled := 0
	for _, c := range calls {
		settled = max(settled, c.Settled)
	}
	for i := range calls {
		c := &calls[i]
		if c.State != RunAsked || len(v.Only) > 0 && !slices.Contains(v.Only, c.Ordinal) {
			continue
		}
		c.By = v.By
		if !v.Approve {
			settled++
			c.State, c.Settled, c.Failure = RunFailed, settled, v.Denied(*c, v.Reason)
			continue
		}
		c.State, c.Expires = RunApproved, now.Add(ApprovalAge)
		if v.ForRun && !slices.Contains(r.Granted, c.Tool) {
			r.Granted = append(r.Granted, c.Tool)
		}
	}
	if r.Status == StatusWaiting && len(Pending(calls)) == 0 {
		r.Status = StatusDecided
	}
	return nil
}

// Settle records that a call with an unknown outcome was done, with the value null, or
// that it may be sent again. It is for Runs.Change.
func Settle(r *Run, calls []RunCall, ordinal int, done bool) error {
	settled := 0
	for _, c := range calls {
		settled = max(settled, c.Settled)
	}
	for i := range calls {
		c := &calls[i]
		if c.Ordinal != ordinal {
			continue
		}
		if !c.Lost() {
			return fmt.Errorf("the outcome of call %d of run %s is known: it is %s", ordinal, r.ID, c.State)
		}
		if done {
			c.State, c.Settled = RunDone, settled+1
			if c.Failure == nil { // else the script has seen that, and sees it again
				c.Value = json.RawMessage("null")
			}
			return nil
		}
		if c.Failure != nil {
			return fmt.Errorf("the script of run %s has seen call %d fail: change the script to call it again", r.ID, ordinal)
		}
		c.State = RunMade
		return nil
	}
	return fmt.Errorf("run %s has no call %d", r.ID, ordinal)
}

var runEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewRunID makes the ID of a run: "r_" and 26 letters and digits, of 128 random
// bits.
func NewRunID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return "r_" + strings.ToLower(runEncoding.EncodeToString(b[:]))
}
