package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// maxOptions bounds the options of a host function, in bytes.
const maxOptions = 8 << 10

// hostFuncs are the functions that need no other feature, by sandbox.Call.Func. Only "call" is a
// tool call, which the policy decides about and which is recorded and listed in tools_called; the
// broker itself answers the others.
var hostFuncs = map[string]HostFunc{
	"call":            {Do: callTool, Large: true},
	sandbox.FuncAgain: {Do: callTool, Large: true},
	"results.get":     {Do: getResult, Disk: true},
	"store.get":       {Do: onValues(getValue), Disk: true},
	"store.set":       {Do: onValues(setValue), Large: true, Disk: true},
	"store.delete":    {Do: onValues(deleteValue), Disk: true},
	"store.keys":      {Do: onValues(listKeys), Disk: true},
}

// diskSlots limits the host functions of all executions that use the disk: each may hold a whole
// result in memory.
var diskSlots = make(chan struct{}, 4)

// hostCall answers a host call of the script, and records it in the journal.
func (x *Execution) hostCall(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	g := x.journal
	if g == nil {
		return x.answerCall(ctx, c)
	}
	if err := g.refuseInPlan(c); err != nil {
		return nil, err
	}
	ctx, row, err := g.enter(ctx, c)
	var value json.RawMessage
	if err == nil && !g.skipped(row) {
		value, err = x.answerCall(ctx, c)
	} else if err != nil {
		err = thrown(c, err)
	}
	if c.Seq == 0 && (err == nil || ctx.Err() == nil) { // otherwise the runner reports it
		g.recordAnswer(row, value, err)
	}
	return value, err
}

// answerCall answers a host call of the script.
func (x *Execution) answerCall(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	f, ok := x.e.host[c.Func]
	if !ok {
		return nil, fmt.Errorf("there is no function %q here", gate.Cut(c.Func, 40))
	}
	if n := len(c.Args); !f.Large && n > maxOptions {
		return nil, fmt.Errorf("%s: the options have %d bytes; at most %d, which is fixed", c.Func, n, maxOptions)
	}
	if f.Disk {
		select {
		case diskSlots <- struct{}{}:
			defer func() { <-diskSlots }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	value, err := f.Do(ctx, x, c)
	if err == nil {
		return value, nil
	}
	if e, ok := errors.AsType[*bridge.Error](err); ok && x.Request.Shell {
		err = e.ForShell()
	}
	return nil, thrown(c, err)
}

// thrown returns an error as the script gets it.
func thrown(c sandbox.Call, err error) error {
	if errors.Is(err, bridge.ErrWithheld) {
		return sandbox.ErrWithheld
	}
	if e, ok := errors.AsType[*recordedError](err); ok {
		return e.CallError
	}
	if e, ok := errors.AsType[*bridge.Error](err); ok {
		return &sandbox.CallError{Name: "ToolError", Message: e.Message, Fields: e.Fields()}
	}
	if e, ok := errors.AsType[*sandbox.CallError](err); ok {
		fields := e.Fields
		if len(fields) > maxFields {
			fields = nil
		}
		return &sandbox.CallError{Name: e.Name, Message: bridge.CutMessage(c.Func + ": " + e.Message), Fields: fields}
	}
	if text := c.Func + ": " + err.Error(); len(text) > bridge.MaxMessage {
		return errors.New(bridge.CutMessage(text))
	}
	return fmt.Errorf("%s: %w", c.Func, err)
}

// maxFields bounds the fields of an error from another feature, in bytes.
const maxFields = 16 << 10

func callTool(ctx context.Context, x *Execution, c sandbox.Call) (json.RawMessage, error) {
	return x.bridge.Call(bridge.AtLine(ctx, c.Line), c.Target, c.Args)
}

// HostArguments returns the options of a host function. Its first argument, if it is a string, is
// added under the name first.
func HostArguments(first string, c sandbox.Call) (surface.Arguments, error) {
	a := surface.Arguments{}
	if len(c.Args) > 0 {
		if err := json.Unmarshal(c.Args, &a); err != nil || a == nil {
			return nil, errors.New("the options must be an object")
		}
	}
	if c.Target != "" {
		a[first] = gate.Compact(c.Target)
	}
	return a, nil
}
