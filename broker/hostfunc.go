package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A hostFunc answers one function that scripts have from their host. Its
// answer is JSON; an error is thrown in the script, a *bridge.Error as a
// ToolError with its fields. It ends with its context.
type hostFunc struct {
	do func(x *execution, ctx context.Context, c sandbox.Call) (json.RawMessage, error)
	// large says that its arguments hold a value of the script, which
	// sandbox.Limits and what is done with it bound. Otherwise they are options.
	large bool
	// disk says that it works on what is kept on disk, and waits for nobody else:
	// only a few do at one time.
	disk bool
}

// maxOptions is how many bytes the options of a host function may have.
const maxOptions = 8 << 10

// hostFuncs are all of them, by sandbox.Call.Func. Only "call" is a tool call,
// which is policed, recorded and listed in tools_called; the others ask the
// broker itself.
var hostFuncs = map[string]hostFunc{
	"call":           {do: (*execution).callTool, large: true},
	"tools.search":   {do: (*execution).searchTools},
	"tools.describe": {do: (*execution).describeTool},
	"results.get":    {do: (*execution).getResult, disk: true},
	"store.get":      {do: (*execution).getValue, disk: true},
	"store.set":      {do: (*execution).setValue, large: true, disk: true},
	"store.delete":   {do: (*execution).deleteValue, disk: true},
	"store.keys":     {do: (*execution).listKeys, disk: true},
	"skills.read":    {do: (*execution).readSkill},
	"skills.call":    {do: (*execution).callSkillTool, large: true},
}

// diskPlaces are for the host functions that work on the disk, of all
// executions: each may hold a whole result in memory.
var diskPlaces = make(chan struct{}, 4)

// hostCall answers what the script asks of its host.
func (x *execution) hostCall(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	f, ok := hostFuncs[c.Func]
	if !ok {
		return nil, fmt.Errorf("there is no function %q here", clip(c.Func, 40))
	}
	if n := len(c.Args); !f.large && n > maxOptions {
		return nil, fmt.Errorf("%s: the options have %d bytes; at most %d, which is fixed", c.Func, n, maxOptions)
	}
	if f.disk {
		select {
		case diskPlaces <- struct{}{}:
			defer func() { <-diskPlaces }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	value, err := f.do(x, ctx, c)
	if e, ok := errors.AsType[*bridge.Error](err); ok {
		return nil, &sandbox.CallError{Name: "ToolError", Message: e.Message, Fields: e.Fields()}
	}
	return value, err
}

func (x *execution) callTool(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	return x.bridge.Call(ctx, c.Target, c.Args)
}

// searchTools is tools.search(query, {server, detail, limit}): what the tool
// search_tools answers, as an object.
func (x *execution) searchTools(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	a, err := hostArguments("tools.search", "query", c)
	if err != nil {
		return nil, err
	}
	if err := onlyOptions(a, searchArguments...); err != nil {
		return nil, fmt.Errorf("tools.search: %w", err)
	}
	req, err := searchRequest(a)
	if err != nil {
		return nil, fmt.Errorf("tools.search: %w", err)
	}
	x.b.hurry(ctx)
	left := x.limit - time.Since(x.started)
	found, err := x.b.search(ctx, req, false, patience{limit: min(x.b.options().SearchWait, left/2)}) // some is for what it finds
	if err != nil {
		return nil, fmt.Errorf("tools.search: %w", err)
	}
	return compactJSON(found), nil
}

// describeTool is tools.describe(name).
func (x *execution) describeTool(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	a, err := hostArguments("tools.describe", "name", c)
	if err != nil {
		return nil, err
	}
	if a.text("name") == "" {
		return nil, errors.New("tools.describe: which tool? Use it as in tools.describe('github__list_issues')")
	}
	d, err := x.b.Describe(ctx, a.text("name"))
	if err != nil {
		return nil, err
	}
	return compactJSON(d), nil
}

// hostArguments are the options of a host function, with its first argument,
// if it was a text, under the name first.
func hostArguments(function, first string, c sandbox.Call) (arguments, error) {
	a := arguments{}
	if len(c.Args) > 0 {
		if err := json.Unmarshal(c.Args, &a); err != nil || a == nil {
			return nil, fmt.Errorf("%s: the options must be an object", function)
		}
	}
	if c.Target != "" {
		a[first] = compactJSON(c.Target)
	}
	return a, nil
}

// onlyOptions refuses an option that none of names is.
func onlyOptions(a arguments, names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if slices.Contains(names, name) {
			continue
		}
		if near := nearest.Names(name, names, 1); len(near) > 0 {
			return fmt.Errorf("there is no option %q: did you mean %s?", name, near[0])
		}
		return fmt.Errorf("there is no option %q: use %s", name, strings.Join(names, ", "))
	}
	return nil
}

// A ToolDescription is all that is known of one tool.
type ToolDescription struct {
	Name        string `json:"name"`
	Server      string `json:"server"`
	Description string `json:"description,omitempty"`
	// ReadOnly is false also where the server does not say.
	ReadOnly     bool            `json:"read_only"`
	Signature    string          `json:"signature"`
	Declaration  string          `json:"declaration"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// Describe returns all that is known of the tool that name names, in any of
// the forms that a call accepts. It waits, until ctx is done, for a server that
// is still starting. An error is a *bridge.Error, with the nearest names if the
// tool is unknown.
func (b *Broker) Describe(ctx context.Context, name string) (ToolDescription, error) {
	t, err := b.resolve(ctx, strings.TrimSpace(name))
	if err != nil {
		return ToolDescription{}, err
	}
	s, _ := b.Catalog().Server(t.Server)
	types := b.options().types()
	d := ToolDescription{
		Name: t.ID, Server: t.Server, Description: t.Description, ReadOnly: t.ReadOnly(),
		Signature: types.Signature(s, t), Declaration: types.Declaration(s, t),
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
	}
	if t.Func == "" { // what reads prompts and resources has no wrapper
		for _, text := range []*string{&d.Signature, &d.Declaration} {
			*text = strings.Replace(*text, s.Namespace+".(", "callMCPTool('"+t.ID+"', ", 1)
		}
	}
	return d, nil
}
