package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
)

// A plan lists the writes of a script. While it is made, reads are live, and other calls are
// recorded as waiting and answered with placeholders. After its approval the script runs again: it
// is repeated up to its first placeholder, then its reads get the recorded answers, and its writes
// are made if they are those of the plan.

const noPlan = "a plan is made of JavaScript and TypeScript in a worker, not in containers: run it without plan"

// whyPlanned maps a class to the reason its calls are in a plan.
var whyPlanned = map[policy.Class]string{policy.Write: "writes", policy.Destructive: "is destructive", policy.Unknown: "may write"}

// planning reports whether the plan of the run is being made.
func (g *runJournal) planning() bool { return g != nil && g.run.Plan == state.PlanMaking }

// notePlanned records the placeholders and the result of a call of the plan; g.mu must be held.
func (g *runJournal) notePlanned(c *state.RunCall, value json.RawMessage) {
	if c.Plan == 0 {
		return
	}
	if g.plan.marks == nil {
		g.plan = plan{make(map[int][]mark), make(map[int]json.RawMessage)}
	}
	g.plan.marks[c.Plan] = marksOf(c.Placeholder, c.Plan)
	if c.State == state.RunDone && value != nil {
		g.plan.results[c.Plan] = value
	}
}

// planned adds a call to the plan, unless it is a read that can be made; g.mu must be held.
func (g *runJournal) planned(p callPosition, a bridge.Attempt) error {
	row := p.row
	row.Pin, row.DependsOn = g.x.e.toolPins.of(a.Tool), g.plan.dependsOn(a.Args)
	if a.Class == policy.Read && row.DependsOn == 0 {
		return nil
	}
	row.Plan, row.Placeholder = row.Ordinal, placeholderOf(g.x.e.catalog.Types(), a.Tool, row.Ordinal)
	if a.Class != policy.Read {
		row.State, row.Why = state.RunAsked, cmp.Or(row.Why, whyPlanned[a.Class])
	}
	g.notePlanned(row, nil)
	_ = g.put(*row, false) // the end of the run waits for it
	return &bridge.Known{Value: row.Placeholder}
}

// placeholderOf returns the placeholder for the result of a call of t.
func placeholderOf(types *codegen.Generator, t *discovery.Tool, n int) json.RawMessage {
	if learned := types.Output(t); learned != nil {
		return placeholder(learned.Schema, false, n)
	}
	return placeholder(t.OutputSchema, t.WrapsResult(), n)
}

// refuseInPlan returns the reason a run with a plan may not make a host call.
func (g *runJournal) refuseInPlan(c sandbox.Call) error {
	switch {
	case g.run.Plan == "":
	case c.Seq == 0:
		return errors.New(noPlan)
	case c.Func == "skills.call":
		return errors.New("a script with a plan cannot call skills: what they do is not known before")
	}
	return nil
}

// skipped reports whether a host call that stores something is left for the approved plan.
func (g *runJournal) skipped(row *state.RunCall) bool {
	if _, does := effects[row.Func]; !g.planning() || !does {
		return false
	}
	row.Plan = row.Ordinal // it has no outcome
	return true
}

// permitted reports whether a call that is not a read may be made: it is approved, or unchanged in
// the plan; g.mu must be held.
func (g *runJournal) permitted(row *state.RunCall, pin string) bool {
	if row.State == state.RunMade {
		if slices.Contains(g.run.Granted, row.Tool) {
			return true
		}
		g.take(row, state.RunApproved, pin)
	}
	return row.Pin == pin && row.Approved(time.Now())
}

// take finds the call of the plan that matches row, and uses it up; g.mu must be held.
func (g *runJournal) take(row *state.RunCall, as, pin string) {
	args := state.Canonical(row.Args)
	for i, c := range g.carriedOver {
		if c.Plan == 0 || c.State != as || c.Func != row.Func || c.Tool != row.Tool || c.Pin != pin ||
			as == state.RunApproved && !c.Approved(time.Now()) || !bytes.Equal(state.Canonical(g.plan.fill(c)), args) {
			continue
		}
		g.use(i)
		row.State, row.Pin, row.Expires, row.By, row.Plan, row.Placeholder = as, pin, c.Expires, c.By, c.Plan, c.Placeholder
		return
	}
}

// use uses up an entry of carriedOver; g.mu must be held.
func (g *runJournal) use(i int) {
	c := g.carriedOver[i]
	g.carriedOver = slices.Delete(g.carriedOver, i, i+1)
	g.markUsed(c) // with or before the intent: an approval may be lost, but not be used twice
}

func (g *runJournal) markUsed(c state.RunCall) {
	c.State, c.Value = state.RunUsed, nil
	_ = g.put(c, false)
}

// unmade returns the number of calls of an approved plan that were not made.
func (g *runJournal) unmade() (n int) {
	for _, c := range g.carriedOver {
		n += boolInt(c.Plan > 0 && c.State == state.RunApproved)
	}
	return n
}
