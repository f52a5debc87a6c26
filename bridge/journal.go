package bridge

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A Journal keeps the calls of a run before they are sent. The call that is meant is
// found by the context. It is safe for concurrent use.
type Journal interface {
	// Known is the outcome of a call that was made before; nil means that it is to
	// be made now.
	Known(ctx context.Context, a Attempt) *Known
	// Asked is about a call that the policy asks about: nil means that a person has
	// approved it, ErrWithheld that one will be asked later, ErrNobody that this
	// call cannot wait for that.
	Asked(ctx context.Context, a Attempt, d policy.Decision) error
	// Sending comes right before a call is sent, which an error prevents; a *Known
	// answers it instead.
	Sending(ctx context.Context, a Attempt) error
}

// An Attempt is a call that is about to be made, with the arguments that would be
// sent.
type Attempt struct {
	Tool  *discovery.Tool
	Class policy.Class
	Args  json.RawMessage
}

// A Known is the outcome of an earlier call. Only this package uses it as an error; Err
// is the error of the call, and Heard the result of Heard for it.
type Known struct {
	Value json.RawMessage
	Err   error
	Heard bool
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

// Forget lets the policy know of no call that the run made before.
func (b *Bridge) Forget() {
	b.ledger.mu.Lock()
	defer b.ledger.mu.Unlock()
	b.ledger.run = policy.Run{}
}

// Heard reports whether an error with these fields belongs to a call that reached its
// server.
func Heard(fields json.RawMessage) bool {
	var e Error
	return json.Unmarshal(fields, &e) == nil && e.heard()
}

// Recall records an earlier call of the run for the policy, and what the script got: a
// value, or the message of a failure as a JSON string.
func (b *Bridge) Recall(t *discovery.Tool, value json.RawMessage) {
	b.ledger.mu.Lock()
	b.ledger.run.AddCall(t, b.classOf(t))
	b.ledger.mu.Unlock()
	b.Read(t, value)
}
