package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
)

// A call is one call on its way through the steps of a bridge.
type call struct {
	name  string        // as the program wrote it
	skill *policy.Skill // whose workflow makes it, or nil
	tool  *discovery.Tool
	args  json.RawMessage // for the server
	// attempt is the call for the journal and for people: tokens stand in place of their values.
	attempt Attempt
	undo    func() // reverts what quotas have counted
	value   json.RawMessage
	record  *Record
}

// steps are what each call passes, in this order, until one returns an error.
var steps = []func(b *Bridge, ctx context.Context, c *call) error{
	(*Bridge).resolve,  // the tool of the name
	(*Bridge).reveal,   // the values of tokens, if the server may have them
	(*Bridge).check,    // the arguments against the tool's schema
	(*Bridge).replay,   // the answer, if the journal has it
	(*Bridge).complete, // the arguments that the config gives
	(*Bridge).permit,   // the policy, and perhaps a person
	(*Bridge).count,    // the quotas
	(*Bridge).begin,    // the journal's note that the call is being sent
	(*Bridge).deliver,  // the server, and its answer as a value
}

// pass takes a call through the steps and returns the value for the script.
func (b *Bridge) pass(ctx context.Context, c *call) (json.RawMessage, error) {
	for _, step := range steps {
		if err := step(b, ctx, c); err != nil {
			return c.value, err
		}
	}
	return c.value, nil
}

func (b *Bridge) resolve(ctx context.Context, c *call) error {
	tool, err := b.o.Resolve(ctx, c.name)
	if err != nil {
		return err
	}
	c.tool = tool
	r := c.record
	r.Server, r.Tool, r.ID, r.Class, r.Resolved = tool.Server, tool.Name, tool.ID, b.classOf(tool), tool
	return nil
}

func (b *Bridge) reveal(_ context.Context, c *call) (err error) {
	c.attempt = Attempt{c.tool, c.record.Class, c.args}
	if b.o.Reveal != nil {
		c.args, err = b.o.Reveal(c.tool, c.args)
	}
	return err
}

func (b *Bridge) check(_ context.Context, c *call) error {
	shown := c.attempt.Args
	revealed := len(c.args) != len(shown) || len(c.args) > 0 && &c.args[0] != &shown[0]
	args, err := b.o.Validator.Check(c.tool, c.args)
	if err != nil {
		return err
	}
	c.args = args
	if !revealed {
		c.attempt.Args = args
	}
	c.record.Args = c.attempt.Args
	return nil
}

func (b *Bridge) replay(ctx context.Context, c *call) error {
	if b.o.Journal == nil {
		return nil
	}
	known := b.o.Journal.Known(ctx, c.attempt)
	if known == nil {
		return nil
	}
	b.reread(c.tool, known)
	c.value = known.Value
	return known
}

func (b *Bridge) complete(_ context.Context, c *call) error {
	args, err := c.tool.Send(c.args)
	if err != nil {
		return b.o.Validator.refuse(c.tool, err)
	}
	c.args = args
	return nil
}

func (b *Bridge) permit(ctx context.Context, c *call) error {
	if b.o.Policy == nil {
		return nil
	}
	return b.decide(ctx, policy.Call{
		Caller: b.o.Client, Profile: b.o.Profile, Tool: c.tool, Class: c.record.Class, Args: c.args, Skill: c.skill, Run: policy.Run{ID: b.o.Execution},
	}, c.attempt, c.record)
}

func (b *Bridge) count(ctx context.Context, c *call) (err error) {
	c.undo, err = b.take(ctx, c.tool, c.record)
	return err
}

func (b *Bridge) begin(ctx context.Context, c *call) error {
	if b.o.Journal != nil {
		if err := b.o.Journal.Sending(ctx, c.attempt); err != nil {
			c.undo()
			return err
		}
	}
	if b.o.Started != nil {
		b.o.Started(c.tool, c.record.Seq)
	}
	return nil
}

// deliver sends a call, once more if the server asked for that, and keeps its value.
func (b *Bridge) deliver(ctx context.Context, c *call) error {
	r := c.record
	value, err := b.send(ctx, c.tool, c.args, r)
	if e, ok := errors.AsType[*Error](err); ok {
		e.limitWrite(r.Class)
	}
	if e, ok := errors.AsType[*Error](err); ok && waitsToRetry(ctx, r.Class, e) {
		decision := r.Decision
		if _, refused := b.take(ctx, c.tool, r); refused == nil {
			r.Result = nil
			value, err = b.send(ctx, c.tool, c.args, r)
		} else {
			r.Decision = decision // the call itself was not refused
		}
	}
	c.value = value
	return err
}

// send sends a call and returns its value.
func (b *Bridge) send(ctx context.Context, tool *discovery.Tool, args json.RawMessage, r *Record) (json.RawMessage, error) {
	raw, err := b.o.Caller.Call(ctx, tool.Server, tool.OwnName(), args)
	if err != nil {
		if b.o.Failure != nil {
			if e := b.o.Failure(err); e != nil {
				err = e.about(tool)
			}
		}
		if e := asError(ctx, err, r); b.o.Policy != nil && e.reachedServer() {
			b.Read(tool, gate.Compact(e.Message))
		}
		return nil, err
	}
	r.Result = raw
	value, err := Value(tool, raw, b.o.StoreBinary)
	if b.o.Policy != nil { // before the script sees it
		seen := value
		if err != nil {
			seen = raw // the error contains text of the server
		}
		b.Read(tool, seen)
	}
	return value, err
}

// take counts a call for its quotas.
func (b *Bridge) take(ctx context.Context, t *discovery.Tool, r *Record) (undo func(), err error) {
	if b.o.Take == nil {
		return func() {}, nil
	}
	undo, err = b.o.Take(ctx, t, r.Class)
	if e, ok := errors.AsType[*Error](err); ok && e.Decision != "" {
		r.Decision = e.Decision
	}
	return undo, err
}

func (b *Bridge) classOf(t *discovery.Tool) policy.Class {
	if b.o.Rules != nil {
		return b.o.Rules.ClassOf(t)
	}
	return policy.ClassOf(t)
}

// decide returns nil if the policy, or a person, allows a call.
func (b *Bridge) decide(ctx context.Context, call policy.Call, a Attempt, r *Record) error {
	d := b.ledger.decide(b.o.Policy, call, b.o.Past, false)
	r.Decision = d.String()
	if d.Effect == policy.Ask && b.o.Journal != nil {
		switch err := b.o.Journal.Asked(ctx, a, d); {
		case errors.Is(err, ErrNobody): // it cannot wait, but a person may be asked now
		case err != nil:
			return err
		default:
			if d = b.ledger.decide(b.o.Policy, call, b.o.Past, true); d.Effect == policy.Ask {
				r.Decision += ", approved"
				return nil
			}
		}
	}
	if d.Effect == policy.Ask && b.o.Approve != nil {
		asked, err := call.Tool.Send(a.Args) // with tokens in place of their values
		if err != nil {
			asked = a.Args
		}
		approved, err := b.o.Approve(ctx, call.Tool, asked, d)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrUnanswered):
			return unanswered(call.Tool, d)
		case err != nil:
			refused := Refused(call.Tool, d)
			refused.Message += " (" + gate.Quote(err.Error(), maxApproveError) + ")"
			return refused
		case !approved:
			return Refused(call.Tool, policy.Decision{Effect: policy.Deny, Code: d.Code,
				Reason: "was not called: the user was asked, and said no", Hint: "go on without it, or ask the user what to do instead"})
		}
		// Other calls may have spent the budget meanwhile.
		if d = b.ledger.decide(b.o.Policy, call, b.o.Past, true); d.Effect == policy.Ask {
			r.Decision += ", approved"
			return nil
		}
	}
	switch {
	case d.Effect == policy.Allow:
		return nil
	case d.Code == policy.CodeProfile: // the tool does not exist for this caller
		return &Error{Code: CodeUnknownTool, Tool: call.Tool.ID, Message: fmt.Sprintf("unknown tool %q", call.Tool.ID), Hint: HintSearch}
	}
	return Refused(call.Tool, d)
}

// maxApproveError bounds the reason no person could be asked, in characters.
const maxApproveError = 300
