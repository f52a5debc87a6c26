package broker

import (
	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

// policies decide about every call of every execution.
func (o *Options) policies() policy.List {
	list := policy.List{o.Tools}
	if o.ReadOnly {
		list = append(list, policy.ReadOnly{})
	}
	if o.EnforceAllowedTools {
		list = append(list, policy.AllowedTools{})
	}
	return list
}

// scope returns the tools of full that the policies do not deny whatever the
// call. The tool lists have no part in that: what they deny is not in full.
func (o *Options) scope(full *discovery.Catalog) *discovery.Catalog {
	if !o.ReadOnly {
		return full
	}
	list := o.policies()
	return full.Filter(func(t *discovery.Tool) bool { return list.Decide(policy.CallOf(t)).Effect != policy.Deny })
}

// denied is the error of a tool that is not in scope.
func (o *Options) denied(t *discovery.Tool) *bridge.Error {
	return bridge.Refused(t, o.policies().Decide(policy.CallOf(t)))
}
