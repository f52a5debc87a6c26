package broker

import (
	"cmp"
	"context"
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// codeScheme is what the URIs of generated files begin with.
const codeScheme = "broker://code/"

// maxListedCode is up to how many tools their wrappers are listed as resources.
// Above it only the servers' indexes are, which name them all: clients show
// such lists to people.
const maxListedCode = 200

// CodeFiles yields the typed wrappers of every tool that scripts can use, and
// what an editor needs beside them, in path order.
func (b *Broker) CodeFiles() iter.Seq[codegen.File] {
	return b.options().types().Files(b.Catalog())
}

// Unlisted returns the servers whose tools are not known, in config order.
func (b *Broker) Unlisted() []string {
	var names []string
	for _, s := range b.options().Servers {
		if b.unlisted(s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// serveCode makes the generated files resources of s: any of them can be read,
// and those are listed that a person might look for.
func (b *Broker) serveCode(s *mcp.Server) {
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "code", Title: "Typed wrappers", URITemplate: codeScheme + "{+path}", MIMEType: "text/typescript",
		Description: "What scripts import: servers/<server>/index.ts names the tools of a server, servers/<server>/<tool>.ts has all that is known of one.",
	}, b.readCode)
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListResourcesResult); ok && err == nil && list.NextCursor == "" {
				list.Resources = append(list.Resources, b.listCode()...)
			}
			return res, err
		}
	})
}

func (b *Broker) readCode(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	path, ok := strings.CutPrefix(uri, codeScheme)
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	f, found := b.options().types().File(b.Catalog(), path)
	if !ok || !found {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	return textResource(uri, mimeOf(f.Path), gate.NewText(string(f.Data))), nil
}

func mimeOf(path string) string {
	if strings.HasSuffix(path, ".json") {
		return "application/json"
	}
	return "text/typescript"
}

// listCode are the resources for the servers and, if they are not too many, for
// their tools, sorted.
func (b *Broker) listCode() []*mcp.Resource {
	c := b.Catalog()
	var list []*mcp.Resource
	add := func(path, title, description string) {
		uri := url.URL{Scheme: "broker", Host: "code", Path: "/" + path}
		list = append(list, &mcp.Resource{URI: uri.String(), Name: path, Title: title,
			Description: codegen.FirstSentence(description, firstSentence), MIMEType: mimeOf(path)})
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
