package bridge

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A Budget bounds the calls of one execution, whether a script, a workflow that it runs, or a
// handler makes them. Bridges may share it. It is safe for concurrent use.
type Budget struct {
	calls  int64
	begun  atomic.Int64
	slots  chan struct{}
	ledger ledger
}

// NewBudget returns a Budget of the given number of calls, with at most inFlight at a time.
func NewBudget(calls, inFlight int) *Budget {
	return &Budget{calls: int64(calls), slots: make(chan struct{}, inFlight)}
}

// acquire waits for a slot, which release frees. A nil Budget is unlimited.
func (b *Budget) acquire(ctx context.Context) (leave func(), err error) {
	if b == nil {
		return func() {}, nil
	}
	if b.begun.Add(1) > b.calls {
		return nil, &Error{Code: CodeCallLimit,
			Message: fmt.Sprintf("limit of %d calls per run reached (config: sandbox.maxCalls): ask for more in one call, or go on in another run", b.calls)}
	}
	select {
	case b.slots <- struct{}{}:
		return func() { <-b.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
