package broker

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/results"
	"github.com/mcpbroker/mcpbroker/state"
)

// resultScheme is what the URIs of kept results begin with.
const resultScheme = "broker://results/"

// maxListedResults is how many kept results are listed, the newest.
const maxListedResults = 20

// serveResults makes the results that were too long for an answer resources of
// s, for the people who want to see them: each client sees its own.
func (b *Broker) serveResults(s *mcp.Server) {
	if b.options().Results == nil {
		return
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "results", Title: "Kept results", URITemplate: resultScheme + "{ref}",
		Description: "What was cut in an answer of execute_code, whole, by the answer's ref.",
	}, b.readResult)
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListResourcesResult); ok && err == nil && list.NextCursor == "" {
				list.Resources = append(list.Resources, b.listResults(ctx, owner(req.GetExtra()))...)
			}
			return res, err
		}
	})
}

func (b *Broker) readResult(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	item, data, err := results.Get(ctx, b.options().Results, owner(req.Extra), strings.TrimPrefix(uri, resultScheme))
	if errors.Is(err, state.ErrNotFound) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	switch item.MIME {
	case state.JSON:
		return textResource(uri, item.MIME, gate.EncodeRaw(data)), nil
	case state.Text:
		return textResource(uri, item.MIME, gate.NewText(string(data))), nil
	}
	return binaryResource(uri, item.MIME, data), nil
}

func (b *Broker) listResults(ctx context.Context, of string) []*mcp.Resource {
	items, err := b.options().Results.List(ctx, of)
	if err != nil {
		b.log.Warn("list kept results", "err", err)
	}
	var list []*mcp.Resource
	for _, i := range items[:min(len(items), maxListedResults)] {
		list = append(list, &mcp.Resource{
			URI: resultScheme + i.Ref, Name: i.Ref, MIMEType: i.MIME, Size: i.Bytes,
			Title: "Result of " + i.Created.Format("2006-01-02 15:04:05"),
		})
	}
	return list
}
