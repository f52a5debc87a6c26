package bridge

import (
	"encoding/json"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A ledger is what policies know of a run: which calls were made, and what was
// read. It is safe for concurrent use.
type ledger struct {
	mu  sync.Mutex
	run policy.Run
}

// decide asks a policy about a call with what the run has done so far. A call
// that it allows, or that a person has, counts as made: of two at one time the
// second finds the budget of one spent.
func (l *ledger) decide(p policy.Policy, c policy.Call, approved bool) policy.Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := c.Run.ID
	c.Run = l.run
	c.Run.ID = id
	d := p.Decide(c)
	if d.Effect == policy.Allow || approved && d.Effect == policy.Ask {
		l.run.AddCall(c.Tool, c.Class)
	}
	return d
}

// read notes that the run has seen a result of t, and its texts if values is set.
func (l *ledger) read(t *discovery.Tool, value json.RawMessage, values bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run.AddRead(t, value, values)
}
