package bridge

import (
	"encoding/json"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A ledger records the calls and reads of a run for policies. It is safe for concurrent use.
type ledger struct {
	mu  sync.Mutex
	run policy.Run
}

// decide asks a policy about a call, considering the earlier ones of the run. A call that the
// policy or a person allows counts as made: the second of two concurrent calls finds a budget of
// one spent.
func (l *ledger) decide(p policy.Policy, c policy.Call, past *Past, approved bool) policy.Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := c.Run.ID
	c.Run = l.run
	c.Run.ID = id
	d := past.decide(p, c)
	if d.Effect == policy.Allow || approved && d.Effect == policy.Ask {
		l.run.AddCall(c.Tool, c.Class)
	}
	return d
}

// Read records for the policy that the run, and so its principal, has seen a value from t, now or
// when it was stored.
func (b *Bridge) Read(t *discovery.Tool, value json.RawMessage) {
	watched := b.o.Rules != nil && b.o.Rules.WatchesValues(t, b.o.Profile)
	var personal []string
	if watched && b.o.Personal != nil {
		personal = b.o.Personal(value)
	}
	b.ledger.mu.Lock()
	b.ledger.run.AddRead(t, value, watched, personal...)
	b.ledger.mu.Unlock()
	if b.o.Rules != nil && b.o.Rules.TracksData(b.o.Profile) {
		b.o.Past.add(t, value, watched, personal)
	}
}

// reread is like Read, for the outcome of an earlier call.
func (b *Bridge) reread(t *discovery.Tool, k *Known) {
	switch {
	case b.o.Policy == nil:
	case k.Err == nil:
		b.Read(t, k.Value)
	case k.ReachedServer:
		b.Read(t, gate.Compact(k.Err.Error()))
	}
}

// Sources returns the tools with results that the run has seen.
func (b *Bridge) Sources() (tools []*discovery.Tool) {
	b.ledger.mu.Lock()
	defer b.ledger.mu.Unlock()
	for _, r := range b.ledger.run.Read {
		tools = append(tools, r.Tool)
	}
	return tools
}
