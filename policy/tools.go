package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// ToolLists allow and deny tools by server, like "tools" of servers in the configuration. The keys
// are config keys; a server without a ToolList has all its tools.
type ToolLists map[string]ToolList

// A ToolList selects the usable tools of a server by patterns in the syntax of
// path.Match, except that "*" alone matches every name. A tool is usable if it matches
// a pattern of Allow, or Allow is empty, and matches none of Deny.
type ToolList struct {
	Allow, Deny []string
}

// Decide implements Policy.
func (l ToolLists) Decide(c Call) Decision {
	if list, ok := l[c.Tool.Server]; ok && !list.allows(c.Tool.OwnName()) {
		return Decision{Effect: Deny, Code: CodeToolLists, Reason: `is denied by "tools" of its server in the configuration`, Hint: searchHint}
	}
	return Decision{}
}

// Filter returns a listing without the denied tools, as if the server did not have them. The
// listing keeps the server's prompts and resources if it has the tools discovery.GetPrompt and
// discovery.ReadResource.
func (l ToolLists) Filter(from discovery.Listing) discovery.Listing {
	list, ok := l[from.Server]
	if !ok {
		return from
	}
	kept := make([]discovery.ListedTool, 0, len(from.Tools))
	for _, t := range from.Tools {
		if list.allows(t.Name) {
			kept = append(kept, t)
		}
	}
	from.Tools = kept
	if !list.allows(discovery.GetPrompt) {
		from.Prompts = nil
	}
	if !list.allows(discovery.ReadResource) {
		from.Resources = nil
	}
	return from
}

func (l ToolList) allows(name string) bool {
	matches := func(pattern string) bool { return pattern == "*" || match(pattern, name) }
	return (len(l.Allow) == 0 || slices.ContainsFunc(l.Allow, matches)) && !slices.ContainsFunc(l.Deny, matches)
}

// AllowedTools limits the calls of a skill to its declared allowed-tools. A skill that declares
// none may call every tool.
type AllowedTools struct{}

// Decide implements Policy.
func (AllowedTools) Decide(c Call) Decision {
	if c.Skill == nil || len(c.Skill.AllowedTools) == 0 {
		return Decision{}
	}
	for _, token := range c.Skill.AllowedTools {
		if tokenMeans(token, c.Tool) {
			return Decision{}
		}
	}
	return Decision{Effect: Deny, Code: CodeAllowedTools,
		Reason: "is not in the allowed-tools of skill " + c.Skill.Ref + ": " + gate.Cut(strings.Join(c.Skill.AllowedTools, " "), maxShown),
		Hint:   "add it to allowed-tools in the skill's SKILL.md, or turn off skills.enforceAllowedTools in the configuration"}
}

// maxShown bounds the part of a skill's allowed-tools that a reason repeats.
const maxShown = 300

// tokenMeans reports whether a token of allowed-tools matches a tool: by its id, by server and
// tool joined in any form that calls accept or as other clients do, mcp__server__tool, each also
// as a pattern; or by mcp__server alone for all tools of a server.
func tokenMeans(token string, t *discovery.Tool) bool {
	if match(token, t.ID) || joins(token, ".", t) || joins(token, "/", t) || joins(token, ":", t) {
		return true
	}
	rest, ok := strings.CutPrefix(token, "mcp__")
	return ok && (match(rest, t.ID) || joins(rest, "__", t) || match(rest, t.Server) || match(rest, strings.TrimSuffix(t.ID, "__"+t.Name)))
}

// joins reports whether a token is the server of t, sep and the name of t, where both
// halves may be patterns. A server name that contains sep must be written literally.
func joins(token, sep string, t *discovery.Tool) bool {
	if rest, ok := strings.CutPrefix(token, t.Server); ok && strings.HasPrefix(rest, sep) {
		return match(rest[len(sep):], t.Name)
	}
	server, tool, ok := strings.Cut(token, sep)
	return ok && match(server, t.Server) && match(tool, t.Name)
}

// match reports whether a pattern in the syntax of path.Match matches a name. An invalid pattern
// matches only itself.
func match(pattern, name string) bool {
	if pattern == name {
		return true
	}
	if !strings.ContainsAny(pattern, `*?[\`) {
		return false
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
