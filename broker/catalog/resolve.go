package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// Resolve finds the tool that a script calls. A server that is configured but
// not listed yet is waited for before its tool is said to be unknown.
func (c *Catalog) Resolve(ctx context.Context, name string) (*discovery.Tool, error) {
	t, unlisted, err := c.lookUp(name)
	if unlisted == "" {
		return t, err
	}
	if err := c.Pool.Wait(ctx, unlisted); err != nil {
		return nil, c.Unavailable(unlisted, err)
	}
	t, _, err = c.lookUp(name)
	return t, err
}

// lookUp is Resolve without the wait. With an error it also returns the name of a
// server that was never listed and may have the tool, or "".
func (c *Catalog) lookUp(name string) (t *discovery.Tool, unlisted string, err error) {
	if err := bridge.CheckName(name); err != nil {
		return nil, "", err
	}
	full, scope := c.Both()
	if t, ok := scope.Tool(name); ok {
		return t, "", nil
	}
	if t, ok := full.Tool(name); ok {
		return nil, "", c.Denied(t)
	}
	if t, ok := c.offerTool(scope, name); ok {
		return t, "", nil
	}
	if server, ok := full.ServerOf(name); ok && server.Listing.Unlisted { // at the time of full
		unlisted = server.Listing.Server
	}
	if e := held(full, name); e != nil {
		return nil, unlisted, e
	}
	if server := c.disabledServerOf(name); server != "" {
		return nil, unlisted, &bridge.Error{Server: server, Tool: discovery.ShownName(name), Code: bridge.CodeUnknownTool,
			Message: fmt.Sprintf("server %s is disabled: broker servers enable %s", gate.Name(server), gate.Name(server)),
			Hint:    "do without it, or tell the user"}
	}
	e := unknownTool(scope, name)
	if note := c.ScopeNote(); note != "" {
		e.Message += " (" + note + ")"
	}
	return nil, unlisted, e
}

// Find returns the listed tool of the given name, whether or not it may be called.
func (c *Catalog) Find(name string) (*discovery.Tool, bool) {
	full, scope := c.Both()
	if t, ok := full.Tool(name); ok {
		return t, true
	}
	return c.offerTool(scope, name)
}

// held returns the error of a call to a tool that is held back, or nil. It contains no
// text of the tool.
func held(full *discovery.Catalog, name string) *bridge.Error {
	s, tool, ok := full.Split(name)
	if !ok {
		return nil
	}
	for _, h := range s.Held {
		if h.Kind == "tool" && h.Name == tool {
			return heldBack(s.Listing.Server, h)
		}
	}
	return nil
}

func heldBack(server string, h discovery.Held) *bridge.Error {
	return &bridge.Error{Server: server, Tool: h.Name, Code: bridge.CodeDenied,
		Message: fmt.Sprintf("%s %q of server %s is held back (%s) until a person approves it; broker pins diff shows why", h.Kind, h.Name, server, h.State),
		Hint:    "do without it, or tell the user"}
}

// Unlisted reports whether a configured server's tools are not known.
func (c *Catalog) Unlisted(server string) bool {
	for _, l := range c.Pool.Listings() {
		if l.Server == server {
			return false
		}
	}
	return true
}

// Unavailable is the failure of a call to a server that cannot be reached.
func (c *Catalog) Unavailable(server string, err error) *bridge.Error {
	e := &bridge.Error{Server: server, Code: bridge.CodeUnavailable, Retryable: true,
		Message: fmt.Sprintf("server %s is not available: %v", server, err)}
	for _, s := range c.Pool.Status() {
		if s.Name == server {
			e.Hint = s.Hint
		}
	}
	return e
}

// unknownTool names what is nearest to a name that is not known.
func unknownTool(scope *discovery.Catalog, name string) *bridge.Error {
	e := &bridge.Error{Code: bridge.CodeUnknownTool, Tool: discovery.ShownName(name)}
	e.Message = fmt.Sprintf("unknown tool %q", e.Tool)
	near := nearest.Names(e.Tool, scope.SortedIDs(), 3)
	if s, tool, ok := scope.Split(name); ok && len(near) == 0 {
		e.Message = fmt.Sprintf("server %s has no tool %q", s.Listing.Server, tool)
		for _, t := range s.Tools {
			if len(nearest.Names(tool, []string{t.Name, t.Func}, 1)) > 0 || len(nearest.Names(lastPart(tool), []string{t.Name, t.Func}, 1)) > 0 {
				near = append(near, t.ID)
			}
		}
	}
	if len(near) == 0 {
		near = SameName(scope, lastPart(e.Tool))
	}
	if len(near) > 0 {
		near = near[:min(3, len(near))]
		e.Message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	e.Hint = bridge.HintSearch
	return e
}

// SameName returns the ids of tools that have this name on some server.
func SameName(c *discovery.Catalog, name string) []string {
	var ids []string
	for _, t := range c.Tools() {
		if strings.EqualFold(t.Name, name) || strings.EqualFold(t.Func, name) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// separators are what a name may have between a server and a tool.
var separators = []string{"__", "/", ":", "."}

func lastPart(name string) string {
	for _, sep := range separators {
		if i := strings.LastIndex(name, sep); i >= 0 {
			return name[i+len(sep):]
		}
	}
	return name
}

// A Description is all that is known of one tool.
type Description struct {
	Name        string `json:"name"`
	Server      string `json:"server"`
	Description string `json:"description,omitempty"`
	// ReadOnly is false also where the server does not say.
	ReadOnly     bool            `json:"read_only"`
	Signature    string          `json:"signature"`
	Declaration  string          `json:"declaration"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Text describes the data in the tool's text results; nil if unknown.
	Text *TextData `json:"text,omitempty"`
	// Instructions are those of the server, about all of its tools.
	Instructions *discovery.Instructions `json:"instructions,omitempty"`
}

// TextData describes the data that recent text results of a tool contained.
type TextData struct {
	// Holds is the type of the data, and Parse a TypeScript expression that extracts it
	// from a result r.
	Holds string `json:"holds"`
	Parse string `json:"parse"`
}

// TextOf returns the data in the texts of t, or nil if it is unknown.
func TextOf(types *codegen.Generator, t *discovery.Tool) *TextData {
	holds, parse := types.HeldType(t)
	if parse == "" {
		return nil
	}
	return &TextData{Holds: holds, Parse: parse}
}

// Describe returns all that is known of the tool that name names, in any of
// the forms that a call accepts. It waits, until ctx is done, for a server that
// is still starting. An error is a *bridge.Error, with the nearest names if the
// tool is unknown.
func (c *Catalog) Describe(ctx context.Context, name string) (Description, error) {
	t, err := c.Resolve(ctx, strings.TrimSpace(name))
	if err != nil {
		return Description{}, err
	}
	return c.describe(t), nil
}

// Known is Describe without waiting for servers. The error for a tool of a server that
// was never listed is an *UnlistedError.
func (c *Catalog) Known(name string) (Description, error) {
	t, unlisted, err := c.lookUp(strings.TrimSpace(name))
	switch {
	case unlisted != "":
		return Description{}, &UnlistedError{unlisted}
	case err != nil:
		return Description{}, err
	}
	return c.describe(t), nil
}

// An UnlistedError means that the tools of a server are not known.
type UnlistedError struct{ Server string }

// Error names the server.
func (e *UnlistedError) Error() string {
	return fmt.Sprintf("the tools of %s are not known", e.Server)
}

func (c *Catalog) describe(t *discovery.Tool) Description {
	s, _ := c.Scope().Server(t.Server)
	types := c.Types()
	d := Description{
		Name: t.ID, Server: t.Server, Description: t.Description, ReadOnly: t.ReadOnly(),
		Signature: types.Signature(s, t), Declaration: types.Declaration(s, t),
		InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Text: TextOf(types, t), Instructions: s.ShownInstructions(),
	}
	if types.Untyped(t) {
		d.Signature += " // " + codegen.UntypedNote
		d.Declaration += " // " + codegen.UntypedNote
	}
	if t.Func == "" { // tools that read prompts and resources have no wrapper
		for _, text := range []*string{&d.Signature, &d.Declaration} {
			*text = strings.Replace(*text, s.Namespace+".(", "callMCPTool('"+t.ID+"', ", 1)
		}
	}
	return d
}
