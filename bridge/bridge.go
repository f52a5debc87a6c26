// Package bridge makes the tool calls of one execution: it resolves the name, asks the policy,
// checks the arguments against the tool's schema, sends the call to its server, converts the
// answer to the value for the script, and records the call. The entries of tools_called come from
// here, on the host's side, and not from the script.
package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A Caller sends one call to an upstream server and returns the raw JSON of
// its CallToolResult. It must return soon after ctx is done. It calls Sent directly
// before it sends: a call that fails after that may have run, unless Options.Failure
// says otherwise.
type Caller interface {
	Call(ctx context.Context, server, tool string, args json.RawMessage) (json.RawMessage, error)
}

// A CallerFunc is a function that implements Caller.
type CallerFunc func(ctx context.Context, server, tool string, args json.RawMessage) (json.RawMessage, error)

// Call calls f.
func (f CallerFunc) Call(ctx context.Context, server, tool string, args json.RawMessage) (json.RawMessage, error) {
	return f(ctx, server, tool, args)
}

// A Resolver finds the tool that a script names. It may wait, until ctx is done, for a server that
// is still starting. For an unknown name, it returns an *Error with code CodeUnknownTool.
type Resolver func(ctx context.Context, name string) (*discovery.Tool, error)

// Options configure a Bridge. Resolve and Caller are required.
type Options struct {
	Resolve Resolver
	Caller  Caller
	// Policy decides about each call with its final arguments. Nil allows all calls.
	Policy policy.Policy
	// Rules are the rules of Policy that a user has written, or nil: they determine whether
	// annotations are trusted, and which results to compare.
	Rules *policy.Rules
	// Reveal returns the arguments of a call for its server, with the values of the tokens that
	// the server may have; the record and the journal keep the tokens. Its error is an *Error. Nil
	// changes nothing.
	Reveal func(t *discovery.Tool, args json.RawMessage) (json.RawMessage, error)
	// Take counts a call for its quotas; undo reverts that if the call is not sent after all. Its
	// error is an *Error. Nil counts nothing.
	Take func(ctx context.Context, t *discovery.Tool, class policy.Class) (undo func(), err error)
	// Approve asks a person about a call that Policy asks about, with the arguments to
	// send except the values of tokens. If it is nil or returns an error, the call is
	// refused.
	Approve func(ctx context.Context, t *discovery.Tool, args json.RawMessage, d policy.Decision) (approved bool, err error)
	// Past is what earlier runs of the principal have read, or nil. Personal, if not nil, returns
	// the texts in a result that count however short they are, for results that Rules compare.
	Past     *Past
	Personal func(result json.RawMessage) []string
	// Client, Profile and Execution are the caller, its profile and the id of the run for Policy.
	Client, Profile, Execution string
	// Journal records the calls that have a position in it; it may be nil.
	Journal Journal
	// Record is called once for each call after it has ended, in the goroutine that made it. It
	// must not block, and must not modify the Record. It may be nil.
	Record func(Record)
	// Started is called when a call is about to be sent. It may be nil.
	Started func(tool *discovery.Tool, seq int)
	// Failure converts an error of Caller, whose meaning it knows, to an *Error. If it is nil or
	// returns nil, the server is unavailable.
	Failure func(error) *Error
	// StoreBinary stores the images and other binary data of results. Nil stores nothing.
	StoreBinary StoreFunc
	// Budget bounds the calls; nil is unlimited.
	Budget *Budget
	// Validator checks arguments; nil means a new one. Share a Validator between bridges, since it
	// caches compiled schemas.
	Validator *Validator
}

const (
	// maxShownName bounds the recorded name of an unknown tool.
	maxShownName = 120
	// maxRecordedError bounds the recorded error.
	maxRecordedError = 1000
)

// A Record describes a call that has ended.
type Record struct {
	Seq         int          // order of arrival in this execution, from 1
	Server      string       // config key; empty if the tool is unknown
	Class       policy.Class // zero if the tool is unknown
	Tool        string       // upstream name; the name as given if unknown
	ID          string       // tool id; the name as given if unknown
	Decision    string       // of the policy, as Decision.String; empty if the policy was not asked
	Started     time.Time
	Duration    time.Duration // since its arrival, including the start of its server
	Waited      time.Duration // the part of Duration until it was sent; all of it if it was not sent
	Line        int           // of the calling program, from 1; 0 if unknown
	Status      Status
	Error       string // the beginning of the message, empty when Status is StatusOK
	Args        json.RawMessage
	Result      json.RawMessage // raw CallToolResult, or nil
	Value       json.RawMessage // the value for the script; nil if the call failed
	ResultBytes int             // the length of Value
	Resolved    *discovery.Tool // the tool, or nil if it is unknown; nil in Records

	sent bool
}

type recordKey struct{}

// Sent records that the call of ctx is about to be sent to its server.
func Sent(ctx context.Context) {
	if r, ok := ctx.Value(recordKey{}).(*Record); ok {
		r.Waited, r.sent = time.Since(r.Started), true
	}
}

type lineKey struct{}

// AtLine returns a context for a call by the given line of the program.
func AtLine(ctx context.Context, line int) context.Context {
	return context.WithValue(ctx, lineKey{}, line)
}

// A Status is the outcome of a call.
type Status string

// The outcomes of calls.
const (
	StatusOK        Status = "ok"
	StatusError     Status = "error"
	StatusDenied    Status = "denied"
	StatusTimeout   Status = "timeout"
	StatusCancelled Status = "cancelled"
)

// A Bridge makes the calls of one execution. It is safe for concurrent use.
type Bridge struct {
	o      Options
	ledger *ledger // of the budget, which bridges may share

	mu      sync.Mutex
	seq     int
	records []Record
	bytes   int64
}

// New returns a bridge for one execution.
func New(o Options) *Bridge {
	if o.Validator == nil {
		o.Validator = NewValidator()
	}
	b := &Bridge{o: o, ledger: &ledger{}}
	if o.Budget != nil {
		b.ledger = &o.Budget.ledger
	}
	return b
}

// Call makes one call by tool name and returns the value for the script. An error is always an
// *Error, or with a Journal ErrWithheld or one that the Journal returned. A call beyond the budget
// is not recorded.
func (b *Bridge) Call(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	value, _, err := b.make(ctx, nil, name, args)
	return value, err
}

// CallRaw is like Call, and also returns the raw CallToolResult, if any.
func (b *Bridge) CallRaw(ctx context.Context, name string, args json.RawMessage) (value, raw json.RawMessage, err error) {
	return b.make(ctx, nil, name, args)
}

// CallOfSkill is like Call, for a call by the workflow of a skill.
func (b *Bridge) CallOfSkill(ctx context.Context, k *policy.Skill, name string, args json.RawMessage) (json.RawMessage, error) {
	value, _, err := b.make(ctx, k, name, args)
	return value, err
}

func (b *Bridge) make(ctx context.Context, k *policy.Skill, name string, args json.RawMessage) (value, raw json.RawMessage, err error) {
	long := CheckName(name)
	if long != nil {
		name = gate.Cut(name, 60) // a longer name is useless
	}
	leave, full := b.o.Budget.acquire(ctx)
	if e, ok := errors.AsType[*Error](full); ok {
		e.Tool = discovery.ShownName(name)
		return nil, nil, e
	}
	if full == nil {
		defer leave()
	}
	b.mu.Lock()
	b.seq++
	shown := gate.Cut(gate.Line(gate.Cut(discovery.ShownName(name), maxShownName)), maxShownName) // it may contain anything
	r := Record{Seq: b.seq, Tool: shown, ID: shown, Args: args, Started: time.Now()}
	b.mu.Unlock()
	r.Line, _ = ctx.Value(lineKey{}).(int)

	if err = cmp.Or(long, full); err == nil {
		value, err = b.pass(context.WithValue(ctx, recordKey{}, &r), &call{name: name, skill: k, args: args, record: &r})
	}
	if errors.Is(err, ErrWithheld) {
		return nil, nil, ErrWithheld
	}
	if known, ok := errors.AsType[*Known](err); ok {
		return known.Value, nil, known.Err
	}
	r.Duration = time.Since(r.Started)
	if r.Waited == 0 {
		r.Waited = r.Duration
	}
	r.Status = StatusOK
	var failed *Error
	if err != nil {
		failed = asError(ctx, err, &r)
		r.Status, r.Error = failed.status(), gate.Quote(failed.Message, maxRecordedError)
		if r.Server == "" && failed.Code == CodeDenied { // the resolver knows the tool
			r.Server, r.Tool = failed.Server, failed.Tool
		}
	}
	r.Value, r.ResultBytes = value, len(value)
	b.mu.Lock()
	b.bytes += int64(len(value))
	kept := r
	kept.Args, kept.Result, kept.Value, kept.Resolved = nil, nil, nil, nil
	b.records = append(b.records, kept)
	b.mu.Unlock()
	if b.o.Record != nil {
		b.o.Record(r)
	}
	if failed != nil {
		return nil, r.Result, failed
	}
	return value, r.Result, nil
}

// asError converts err to the *Error that the script sees, with the names of r.
func asError(ctx context.Context, err error, r *Record) *Error {
	var e *Error
	if known, ok := errors.AsType[*Error](err); ok {
		copied := *known
		e = &copied
	} else {
		e = &Error{Code: CodeUnavailable, Message: err.Error(), Retryable: !r.sent, MayHaveRun: r.sent}
	}
	if ctx.Err() != nil && e.Code != CodeDenied && e.Code != CodeApproval && e.Code != CodeToken && e.Code != CodeQuota {
		e.Code, e.Retryable = CodeCancelled, false
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			e.Code = CodeTimeout
		}
		e.Message = fmt.Sprintf("call %s: %s", r.ID, "the execution ended before the server answered")
	}
	if e.MayHaveRun && e.Hint == "" {
		e.Hint = hintMayHaveRun
	}
	if e.Server == "" {
		e.Server = r.Server
	}
	if e.Tool == "" {
		e.Tool = r.Tool
	}
	e.bound()
	return e
}

// Bytes returns the total length of the values of all calls.
func (b *Bridge) Bytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}

// Records returns the calls that have ended, in order of arrival, without arguments and results.
func (b *Bridge) Records() []Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	sorted := append([]Record(nil), b.records...)
	sortBySeq(sorted)
	return sorted
}
