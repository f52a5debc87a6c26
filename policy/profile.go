package policy

import (
	"slices"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A Profile selects the servers and tools of some callers. Others do not exist for them, so a
// Profile narrows a catalogue and is not a Policy. Its patterns are those of path.Match, except
// that "*" alone matches every name. The zero value selects nothing.
type Profile struct {
	Name string
	// Servers are patterns of the names of servers.
	Servers []string
	// Allow and Deny are patterns of tools: of their names, of their ids, or of server and tool
	// joined in any form that calls accept. Deny wins.
	Allow, Deny []string
	// ReadOnly leaves out the tools that the policy ReadOnly denies.
	ReadOnly bool
}

// HasAll reports whether the profile includes every server and every tool.
func (p *Profile) HasAll() bool {
	return slices.Contains(p.Servers, "*") && slices.Contains(p.Allow, "*") && len(p.Deny) == 0 && !p.ReadOnly
}

// HasServer reports whether the profile includes a server.
func (p *Profile) HasServer(name string) bool { return matchesAny(p.Servers, name) }

// HasTool reports whether the profile includes a tool.
func (p *Profile) HasTool(t *discovery.Tool) bool {
	is := func(pattern string) bool {
		return pattern == "*" || match(pattern, t.Name) || match(pattern, t.OwnName()) || match(pattern, t.ID) ||
			joins(pattern, ".", t) || joins(pattern, "/", t) || joins(pattern, ":", t)
	}
	not := func(pattern string) bool {
		return is(pattern) || t.PlainPrefix != "" && match(pattern, t.PlainPrefix+"__"+t.Name)
	}
	return p.HasServer(t.Server) && slices.ContainsFunc(p.Allow, is) && !slices.ContainsFunc(p.Deny, not) &&
		(!p.ReadOnly || ReadOnly{}.Decide(CallOf(t)).Effect != Deny)
}

// Offers removes the prompts and resources of a server if the profile excludes the tools that read
// them, discovery.GetPrompt and discovery.ReadResource.
func (p *Profile) Offers(s *discovery.Server) {
	readOnly := true
	has := func(method string) bool {
		t := discovery.Tool{Server: s.Listing.Server, ID: s.Prefix + "__" + method, PlainPrefix: s.PlainPrefix}
		t.Name, t.Annotations.ReadOnly = method, &readOnly
		return p.HasTool(&t)
	}
	if !has(discovery.GetPrompt) {
		s.Prompts = nil
	}
	if !has(discovery.ReadResource) {
		s.Resources = nil
	}
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return p == "*" || match(p, name) })
}
