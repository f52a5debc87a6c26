package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// resolve finds the tool that a script calls. A server that is configured but
// not listed yet is waited for before its tool is said to be unknown.
func (b *Broker) resolve(ctx context.Context, name string) (*discovery.Tool, error) {
	if err := bridge.CheckName(name); err != nil {
		return nil, err
	}
	full, scope := b.catalogs()
	if t, ok := scope.Tool(name); ok {
		return t, nil
	}
	if t, ok := full.Tool(name); ok {
		return nil, b.options().denied(t)
	}
	if t, ok := b.offerTool(scope, name); ok {
		return t, nil
	}
	server, known := full.ServerOf(name)
	if known && len(server.Tools) == 0 { // it was not listed yet, or has none
		if b.unlisted(server.Listing.Server) {
			if err := b.pool.Wait(ctx, server.Listing.Server); err != nil {
				return nil, b.unavailable(server.Listing.Server, err)
			}
		}
		full, scope = b.catalogs()
		if t, ok := scope.Tool(name); ok {
			return t, nil
		}
		if t, ok := full.Tool(name); ok {
			return nil, b.options().denied(t)
		}
		if t, ok := b.offerTool(scope, name); ok {
			return t, nil
		}
	}
	return nil, b.unknownTool(scope, name)
}

// unlisted reports whether a configured server's tools are not known.
func (b *Broker) unlisted(server string) bool {
	for _, l := range b.pool.Listings() {
		if l.Server == server {
			return false
		}
	}
	return true
}

// unavailable is the failure of a call to a server that cannot be reached.
func (b *Broker) unavailable(server string, err error) *bridge.Error {
	e := &bridge.Error{Server: server, Code: bridge.CodeUnavailable, Retryable: true,
		Message: fmt.Sprintf("server %s is not available: %v", server, err)}
	for _, s := range b.pool.Status() {
		if s.Name == server {
			e.Hint = s.Hint
		}
	}
	return e
}

// unknownTool names what is nearest to a name that is not known.
func (b *Broker) unknownTool(scope *discovery.Catalog, name string) *bridge.Error {
	e := &bridge.Error{Code: bridge.CodeUnknownTool, Tool: name}
	e.Message = fmt.Sprintf("unknown tool %q", name)
	near := nearest.Names(name, scope.SortedIDs(), 3)
	if s, ok := scope.ServerOf(name); ok && len(near) == 0 {
		e.Message = fmt.Sprintf("server %s has no tool %q", s.Listing.Server, lastPart(name))
		for _, t := range s.Tools {
			if len(nearest.Names(lastPart(name), []string{t.Name, t.Func}, 1)) > 0 {
				near = append(near, t.ID)
			}
		}
	}
	if len(near) == 0 {
		near = sameName(scope, lastPart(name))
	}
	if len(near) > 0 {
		near = near[:min(3, len(near))]
		e.Message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	e.Hint = "search_tools finds tools by what they do"
	return e
}

// sameName returns the ids of tools that have this name on some server.
func sameName(c *discovery.Catalog, name string) []string {
	var ids []string
	for _, t := range c.Tools() {
		if strings.EqualFold(t.Name, name) || strings.EqualFold(t.Func, name) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

func lastPart(name string) string {
	for _, sep := range []string{"__", "/", ":", "."} {
		if i := strings.LastIndex(name, sep); i >= 0 {
			return name[i+len(sep):]
		}
	}
	return name
}

// failure turns what the upstream layer reports into what the script sees.
func failure(err error) *bridge.Error {
	if input, ok := errors.AsType[*upstream.InputError](err); ok {
		return &bridge.Error{Code: bridge.CodeNeedsInput, Message: input.Error(), Hint: input.Hint, Retryable: input.Retry}
	}
	if rpc, ok := errors.AsType[*upstream.RPCError](err); ok {
		return &bridge.Error{Code: bridge.CodeProtocol, Message: rpc.Error()}
	}
	if conn, ok := errors.AsType[*upstream.ConnectError](err); ok {
		if conn.State == upstream.StateNeedsSignIn { // no script can mend that
			return &bridge.Error{Code: bridge.CodeUnavailable, Message: conn.Error(), Hint: conn.Hint}
		}
		if conn.Sent {
			return &bridge.Error{Code: bridge.CodeUnavailable, Message: conn.Error(), Hint: mayHaveRun}
		}
		return &bridge.Error{Code: bridge.CodeUnavailable, Message: conn.Error(), Retryable: true,
			Hint: "list_servers says how the server is"}
	}
	if _, ok := errors.AsType[*upstream.TimeoutError](err); ok || errors.Is(err, context.DeadlineExceeded) {
		return &bridge.Error{Code: bridge.CodeTimeout, Message: err.Error(), Hint: mayHaveRun}
	}
	return nil
}

// mayHaveRun is the hint for a call that was sent and got no answer.
const mayHaveRun = "the tool may have run all the same: look before you call it again"
