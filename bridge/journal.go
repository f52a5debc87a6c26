package bridge

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A Journal records the calls of a run before they are sent. It identifies a call by its context.
// It is safe for concurrent use.
type Journal interface {
	// Known returns the outcome of a call that was made before, or nil if the call is to be made.
	Known(ctx context.Context, a Attempt) *Known
	// Asked is called if the policy asks about a call. It returns nil if a person has approved the
	// call, ErrWithheld if a person will be asked later, or ErrNobody if the call cannot wait for
	// that.
	Asked(ctx context.Context, a Attempt, d policy.Decision) error
	// Sending is called directly before a call is sent. An error prevents that; a *Known answers
	// the call instead.
	Sending(ctx context.Context, a Attempt) error
}

// An Attempt is a call that is about to be made, with its final arguments.
type Attempt struct {
	Tool  *discovery.Tool
	Class policy.Class
	Args  json.RawMessage
}

// A Known is the outcome of an earlier call. Only this package uses it as an error; Err is the
// error of the call, and ReachedServer the result of ReachedServer for it.
type Known struct {
	Value         json.RawMessage
	Err           error
	ReachedServer bool
}

func (*Known) Error() string { return "the call was made before" }

var (
	// ErrWithheld means that a call waits for a person. It is not recorded.
	ErrWithheld = errors.New("the call waits for the decision of a person")
	// ErrNobody means that a call cannot wait for a person.
	ErrNobody = errors.New("nobody can be asked here")
	// ErrUnanswered means that a person closed the question without an answer. The call
	// is not denied.
	ErrUnanswered = errors.New("the question was closed without an answer")
)

// Forget removes the earlier calls of the run from the policy's view.
func (b *Bridge) Forget() {
	b.ledger.mu.Lock()
	defer b.ledger.mu.Unlock()
	b.ledger.run = policy.Run{}
}

// ReachedServer reports whether an error with these fields belongs to a call that reached its
// server.
func ReachedServer(fields json.RawMessage) bool {
	var e Error
	return json.Unmarshal(fields, &e) == nil && e.reachedServer()
}

// Recall records an earlier call of the run for the policy, with the value that the script got or
// the message of a failure as a JSON string.
func (b *Bridge) Recall(t *discovery.Tool, value json.RawMessage) {
	b.ledger.mu.Lock()
	b.ledger.run.AddCall(t, b.classOf(t))
	b.ledger.mu.Unlock()
	b.Read(t, value)
}
