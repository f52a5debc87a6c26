package run

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/results"
	"github.com/mcpbroker/mcpbroker/state"
)

// codeScheme is the prefix of the URIs of generated files.
const codeScheme = "broker://code/"

// maxListedCode is the highest number of tools whose wrappers are listed as resources, since
// clients show such lists to people. Beyond it, only the servers' indexes are listed, which name
// all tools.
const maxListedCode = 200

// maxListedSentence bounds the length of a description in such a list.
const maxListedSentence = 200

// Templates implements surface.ResourceFeature: a client that writes code can read any generated
// file and stored result.
func (e *Executor) Templates() []surface.Template {
	if e.opts.Load().Mode == surface.ModeTools {
		return nil
	}
	list := []surface.Template{{Read: e.readCode, ResourceTemplate: &mcp.ResourceTemplate{
		Name: "code", Title: "Typed wrappers", URITemplate: codeScheme + "{+path}", MIMEType: "text/typescript",
		Description: "What scripts import: servers/<server>/index.ts names the tools of a server, servers/<server>/<tool>.ts has all that is known of one.",
	}}}
	if e.opts.Load().Results != nil {
		list = append(list, surface.Template{Read: e.readResult, ResourceTemplate: &mcp.ResourceTemplate{
			Name: "results", Title: "Kept results", URITemplate: resultScheme + "{ref}",
			Description: "What was cut in an answer of execute_code, whole, by the answer's ref.",
		}})
	}
	return list
}

// Resources implements surface.ResourceFeature. It lists the resources that a person might look
// for, and the caller's own results.
func (e *Executor) Resources(c surface.Caller) []*mcp.Resource {
	if e.opts.Load().Mode == surface.ModeTools {
		return nil
	}
	return append(e.listCode(), e.listResults(e.opts.Load().ownerFor(c.Owner))...)
}

func (e *Executor) readCode(_ context.Context, _ surface.Caller, uri string) (*mcp.ReadResourceResult, error) {
	path, ok := strings.CutPrefix(uri, codeScheme)
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	f, found := e.catalog.Types().File(e.catalog.Scope(), path)
	if !ok || !found {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	return surface.TextResource(uri, mimeOf(f.Path), gate.NewText(string(f.Data))), nil
}

func mimeOf(path string) string {
	if strings.HasSuffix(path, ".json") {
		return "application/json"
	}
	return "text/typescript"
}

// listCode returns the resources of the servers and, if they are not too many, of their tools,
// sorted.
func (e *Executor) listCode() []*mcp.Resource {
	c := e.catalog.Scope()
	var list []*mcp.Resource
	add := func(path, title, description string) {
		uri := url.URL{Scheme: "broker", Host: "code", Path: "/" + path}
		list = append(list, &mcp.Resource{URI: uri.String(), Name: path, Title: title,
			Description: codegen.FirstSentence(description, maxListedSentence), MIMEType: mimeOf(path)})
	}
	for _, s := range c.Servers() {
		if len(s.Tools) == 0 {
			continue
		}
		add(codegen.IndexPath(s), s.Listing.Server, s.Description)
		if len(c.Tools()) > maxListedCode {
			continue
		}
		for _, t := range s.Tools {
			add(t.WrapperPath, t.ID, t.Description)
		}
	}
	slices.SortFunc(list, func(a, b *mcp.Resource) int { return cmp.Compare(a.URI, b.URI) })
	return list
}

// resultScheme is the prefix of the URIs of stored results.
const resultScheme = "broker://results/"

// maxListedResults bounds the listed results; the newest are listed.
const maxListedResults = 20

func (e *Executor) readResult(ctx context.Context, c surface.Caller, uri string) (*mcp.ReadResourceResult, error) {
	o := e.opts.Load()
	item, data, err := results.Get(ctx, o.Results, o.ownerFor(c.Owner), strings.TrimPrefix(uri, resultScheme))
	if errors.Is(err, state.ErrNotFound) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	switch item.MIME {
	case state.JSON:
		return surface.TextResource(uri, item.MIME, gate.EncodeRaw(data)), nil
	case state.Text:
		return surface.TextResource(uri, item.MIME, gate.NewText(string(data))), nil
	}
	return surface.BinaryResource(uri, item.MIME, data), nil
}

func (e *Executor) listResults(of string) []*mcp.Resource {
	if e.opts.Load().Results == nil {
		return nil
	}
	items, err := e.opts.Load().Results.List(context.Background(), of)
	if err != nil {
		e.log.Warn("list kept results", "err", err)
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
