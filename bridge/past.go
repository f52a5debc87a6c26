package bridge

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

const (
	// pastTime is the time for which reads of a run count in other runs of its principal; up to
	// pastStep is added.
	pastTime = 30 * time.Minute
	pastStep = 5 * time.Minute
)

// A Past records what the runs of one principal have read within the last half hour. The zero
// value is empty; it is safe for concurrent use. A nil Past stays empty.
type Past struct {
	mu    sync.Mutex
	steps []pastRun // the oldest first
}

// A pastRun contains the reads within pastStep after a time.
type pastRun struct {
	since time.Time
	run   policy.Run
}

// add records that a result of t was seen.
func (p *Past) add(t *discovery.Tool, value json.RawMessage, watched bool, personal []string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.steps)
	if n == 0 || time.Since(p.steps[n-1].since) >= pastStep {
		p.steps = append(p.steps, pastRun{since: time.Now()})
		n++
	}
	p.steps[n-1].run.AddRead(t, value, watched, personal...)
}

// Empty reports whether p contains no read that still counts.
func (p *Past) Empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetLocked()
	return len(p.steps) == 0
}

func (p *Past) forgetLocked() {
	p.steps = slices.DeleteFunc(p.steps, func(s pastRun) bool { return time.Since(s.since) >= pastTime+pastStep })
}

// decide asks a policy about a call, considering the reads of other runs.
func (p *Past) decide(by policy.Policy, c policy.Call) policy.Decision {
	if p == nil {
		return by.Decide(c)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetLocked()
	if len(p.steps) > 0 {
		c.Run.Read = slices.Clone(c.Run.Read)
		for i := range p.steps {
			for _, r := range p.steps[i].run.Read {
				r.Earlier = true
				c.Run.Read = append(c.Run.Read, r)
			}
		}
	}
	return by.Decide(c)
}
