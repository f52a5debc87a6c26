package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/listing"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// offerTime is how long the prompts and resources of a server may hold up its
// tools, which are listed before them.
const offerTime = 3 * time.Second

// Offers lists the prompts and resources of a server that says it has such. It
// reports false if it could not, so that what is known from before should stay.
func (s *Session) Offers(ctx context.Context, l *discovery.Listing) (complete bool) {
	has := s.capabilities()
	if has == nil {
		return true
	}
	ctx, cancel := context.WithTimeoutCause(ctx, offerTime, fmt.Errorf("no answer for %s", words.Seconds(offerTime)))
	defer cancel()
	complete = true
	defer func() {
		if p := recover(); p != nil {
			complete = false
			l.Problems = append(l.Problems, "cannot list its prompts and resources: "+s.panics.error("prompts/list", p).Error())
		}
	}()
	note := func(what string, err error) {
		if rpc, ok := errors.AsType[*jsonrpc.Error](err); err == nil || ok && rpc.Code == jsonrpc.CodeMethodNotFound {
			return // it has no offers of that kind
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		complete = false
		l.Problems = append(l.Problems, gate.Clean(s.Hide.In(fmt.Sprintf("cannot list its %s: %v", what, err))))
	}
	if has.Prompts != nil {
		var err error
		l.Prompts, err = listing.Gather(listing.Pages(func(cursor string) ([]*mcp.Prompt, string, error) {
			res, err := s.mcp.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return res.Prompts, res.NextCursor, nil
		}), listing.Prompt)
		note("prompts", err)
	}
	if has.Resources != nil {
		var err error
		l.Resources, err = listing.Gather(listing.Pages(func(cursor string) ([]*mcp.Resource, string, error) {
			res, err := s.mcp.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return res.Resources, res.NextCursor, nil
		}), listing.Resource)
		note("resources", err)
		templates, err := listing.Gather(listing.Pages(func(cursor string) ([]*mcp.ResourceTemplate, string, error) {
			res, err := s.mcp.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return res.ResourceTemplates, res.NextCursor, nil
		}), listing.Template)
		note("resource templates", err)
		l.Resources = append(l.Resources, templates...)
	}
	return complete
}
