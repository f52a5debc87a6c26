package listing

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// maxOffers is how many prompts, resources and templates are listed of each.
const maxOffers = 1000

// Pages returns the entries of a list that fetch reads page by page. It stops at a
// repeated page and after maxPages pages.
func Pages[T any](fetch func(cursor string) (page []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var pages Pager
		for cursor := ""; ; {
			page, next, err := fetch(cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, entry := range page {
				if !yield(entry, nil) {
					return
				}
			}
			if more, err := pages.Next(next, 0); err != nil || !more {
				return
			}
			cursor = next
		}
	}
}

// Gather reads a list to its end, or as far as is taken. What made returns
// false for is left out, as is what is there twice.
func Gather[From any, To any](list iter.Seq2[From, error], made func(From) (to To, key string, ok bool)) ([]To, error) {
	var all []To
	seen := make(map[string]bool)
	n := 0
	for from, err := range list {
		if err != nil {
			return all, err
		}
		if n++; n > maxOffers {
			break
		}
		if to, key, ok := made(from); ok && !seen[key] {
			seen[key] = true
			all = append(all, to)
		}
	}
	return all, nil
}

// plainName reports whether a name or URI can be shown and repeated unchanged.
func plainName(name string, limit int) bool {
	return name != "" && len(name) <= limit && !gate.Hides(name) && !strings.ContainsAny(name, "\r\n\t")
}

// Prompt makes what Gather takes of a prompt.
func Prompt(p *mcp.Prompt) (discovery.ListedPrompt, string, bool) {
	if p == nil || !plainName(p.Name, maxName) {
		return discovery.ListedPrompt{}, "", false
	}
	out := discovery.ListedPrompt{Name: p.Name, Title: gate.Clean(p.Title), Description: gate.Clean(p.Description)}
	for _, a := range p.Arguments {
		if a != nil && plainName(a.Name, maxName) {
			out.Arguments = append(out.Arguments, discovery.PromptArgument{Name: a.Name, Description: gate.Clean(a.Description), Required: a.Required})
		}
	}
	return out, p.Name, true
}

// Resource makes what Gather takes of a resource.
func Resource(r *mcp.Resource) (discovery.ListedResource, string, bool) {
	if r == nil || !plainName(r.URI, maxURI) {
		return discovery.ListedResource{}, "", false
	}
	return discovery.ListedResource{URI: r.URI, Name: gate.Clean(r.Name), Title: gate.Clean(r.Title),
		Description: gate.Clean(r.Description), MIMEType: gate.Clean(r.MIMEType)}, r.URI, true
}

// Template makes what Gather takes of a template of resources.
func Template(r *mcp.ResourceTemplate) (discovery.ListedResource, string, bool) {
	if r == nil || !plainName(r.URITemplate, maxURI) {
		return discovery.ListedResource{}, "", false
	}
	return discovery.ListedResource{URI: r.URITemplate, Name: gate.Clean(r.Name), Title: gate.Clean(r.Title),
		Description: gate.Clean(r.Description), MIMEType: gate.Clean(r.MIMEType), Template: true}, r.URITemplate, true
}

// Skill reads one entry. Whether what it says makes sense is for
// others to decide.
func Skill(raw json.RawMessage) (discovery.ListedSkill, error) {
	var e discovery.ListedSkill
	if err := json.Unmarshal(raw, &e); err != nil || e.URI == "" || gate.Clean(e.URI) != e.URI {
		return e, fmt.Errorf("a skill was left out: it has no address, but is %q", gate.Cut(gate.Clean(string(raw)), 60))
	}
	if len(e.Frontmatter) > 0 {
		e.Frontmatter = compact(e.Frontmatter)
	}
	if len(e.Resources) > 0 {
		e.Resources = compact(e.Resources)
	}
	return e, nil
}
