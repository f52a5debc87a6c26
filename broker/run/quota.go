package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A counter counts the calls and the execution of one user, or refuses them.
type counter struct {
	o          *Options
	user, team string
}

// counter returns what counts for a request.
func (o *Options) counter(req *Request) *counter { return &counter{o, req.Owner, req.Team} }

// takeCall returns the function for bridge.Options.Take, or nil if nothing is counted or refused.
func (n *counter) takeCall() func(context.Context, *discovery.Tool, policy.Class) (func(), error) {
	if n.o.Quota == nil && n.o.Refuse == nil {
		return nil
	}
	return func(ctx context.Context, t *discovery.Tool, class policy.Class) (func(), error) {
		if n.o.Refuse != nil {
			if err := n.o.Refuse(ctx, class); err != nil {
				return nil, &bridge.Error{Server: t.Server, Tool: t.Name, Code: bridge.CodeUnavailable, Retryable: true, Message: t.ID + " was not called: " + err.Error(),
					Hint: "try again later", Decision: "deny state"}
			}
		}
		if n.o.Quota == nil {
			return func() {}, nil
		}
		undo, err := n.take(ctx, quota.Call{Tool: t, Write: class != policy.Read})
		if err == nil {
			return undo, nil
		}
		e := &bridge.Error{Server: t.Server, Tool: t.Name, Code: bridge.CodeQuota, Retryable: true}
		e.Message, e.Hint, e.Decision = quotaWords(t.ID, err)
		if spent, ok := errors.AsType[*quota.Spent](err); ok {
			e.RetryAfterMS = 1000 * int64(quota.Seconds(spent.Wait))
		}
		return nil, e
	}
}

// takeExecution counts an execution, unless it is resumed, or refuses it.
func (n *counter) takeExecution(ctx context.Context, resumed bool) error {
	if n.o.Refuse != nil {
		if err := n.o.Refuse(ctx, 0); err != nil {
			return fmt.Errorf("the script was not run: %w", err)
		}
	}
	if n.o.Quota == nil || resumed {
		return nil
	}
	if _, err := n.take(ctx, quota.Call{}); err != nil {
		message, hint, _ := quotaWords("the script", err)
		return fmt.Errorf("%s: %s", message, hint)
	}
	return nil
}

func (n *counter) take(ctx context.Context, c quota.Call) (undo func(), err error) {
	c.User, c.Team = n.user, n.team
	if n.o.Profile != "" {
		c.Profiles = strings.Split(n.o.Profile, "+")
	}
	undo, err = n.o.Quota.Take(ctx, c)
	if err != nil {
		if seen, ok := n.o.Observer.(interface{ QuotaRefused(reason string) }); ok {
			reason := "spent"
			if _, ok := errors.AsType[*quota.Unknown](err); ok {
				reason = "unknown"
			}
			seen.QuotaRefused(reason)
		}
	}
	return undo, err
}

// quotaWords returns the texts of a refusal for a model and for the record.
func quotaWords(what string, err error) (message, hint, decision string) {
	spent, ok := errors.AsType[*quota.Spent](err)
	if !ok {
		return what + " was not called: the database of the broker's quotas cannot be reached", "try again in 5 s; meanwhile only what reads is called", "deny quota"
	}
	seconds := quota.Seconds(spent.Wait)
	return fmt.Sprintf("%s: %v", what, err), fmt.Sprintf("try again in %d s, with fewer calls", seconds), "deny quota " + spent.Rule.Where
}
