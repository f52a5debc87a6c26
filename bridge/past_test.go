package bridge

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

// reads is a policy that notes what was read.
type reads struct{ n *int }

func (r reads) Decide(c policy.Call) policy.Decision {
	*r.n = len(c.Run.Read)
	return policy.Decision{}
}

func TestThePastEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, n := &Past{}, 0
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{0, 1}, {29 * time.Minute, 1}, {7 * time.Minute, 0}} {
			if step.wait == 0 {
				p.add(&discovery.Tool{ID: "a__b"}, nil, false, nil)
			}
			time.Sleep(step.wait)
			p.decide(reads{&n}, policy.Call{})
			if n != step.want {
				t.Errorf("after %s more: %d reads, want %d", step.wait, n, step.want)
			}
		}
	})
	var none *Past
	none.add(nil, nil, false, nil)
	none.decide(reads{new(int)}, policy.Call{})
}
