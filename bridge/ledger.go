package bridge

import (
	"encoding/json"
	"slices"
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
		l.made(c)
	}
	return d
}

func (l *ledger) made(c policy.Call) {
	l.run.Calls++
	if c.Class >= policy.Write {
		l.run.Writes++
	}
	if c.Class == policy.Destructive {
		l.run.Destructive++
	}
	i := slices.IndexFunc(l.run.Made, func(m policy.Made) bool { return m.Tool.ID == c.Tool.ID })
	if i < 0 {
		i = len(l.run.Made)
		l.run.Made = append(l.run.Made, policy.Made{Tool: c.Tool})
	}
	l.run.Made[i].Calls++
}

// read notes that the run has seen a result of t, and its texts if values is set.
func (l *ledger) read(t *discovery.Tool, value json.RawMessage, values bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.run.Read, func(r policy.Reading) bool { return r.Tool.ID == t.ID })
	if i < 0 {
		i = len(l.run.Read)
		l.run.Read = append(l.run.Read, policy.Reading{Tool: t})
	}
	if !values {
		return
	}
	if l.run.Read[i].Values == nil {
		l.run.Read[i].Values = &policy.Values{}
	}
	l.run.Read[i].Values.AddJSON(value)
}
