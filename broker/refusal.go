package broker

import (
	"slices"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/vault"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/state"
)

// Refusal returns the error that a waiting call of a run would get from the policy as it
// is now, even if a person approved the call; nil if it would be made. Earlier calls of
// the run (budgets, flows) are not taken into account. A call of an unknown tool is not
// refused.
func (b *Broker) Refusal(r state.Run, c state.RunCall) error {
	v := b.viewOf(r.Profile, r.Narrowed)
	full, _ := v.catalog.Both()
	o := v.opts.Load()
	t, ok := full.Tool(c.Tool)
	if !ok {
		if t = b.leftOut(c.Tool); t == nil {
			return nil
		}
	}
	call := policy.Call{Profile: o.profile, Tool: t, Class: policy.ClassOf(t)}
	if o.Policy != nil {
		call.Class = o.Policy.ClassOf(t)
	}
	if !vault.HasTokens(c.Args) { // else their values are unknown here
		if args, err := t.Send(c.Args); err == nil {
			call.Args = args
		}
	}
	if d := o.policies().Decide(call); d.Effect == policy.Deny {
		return bridge.Refused(t, d)
	}
	return nil
}

// leftOut returns a tool by its id that "tools" of its server leaves out, or nil.
func (b *Broker) leftOut(id string) *discovery.Tool {
	tools := discovery.NewCatalog(b.catalog.Approved()).Tools()
	if i := slices.IndexFunc(tools, func(t *discovery.Tool) bool { return t.ID == id }); i >= 0 {
		return tools[i]
	}
	return nil
}
