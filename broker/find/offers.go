package find

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// Kinds of search hits that are not tools of servers.
const (
	KindSkill     = "skill"
	KindSkillTool = "skill_tool" // of a skill defined in Go
	KindScript    = "script"     // that a person has saved
	kindPrompt    = "prompt"
	kindResource  = "resource"
)

// enterOffers makes the prompts and resources of the servers hits of
// search_tools.
func (f *Finder) enterOffers(scope *discovery.Catalog) {
	var list []Entry
	for _, s := range scope.Servers() {
		for _, t := range catalog.ToolsOfOffers(scope, s) {
			switch t.Name {
			case upstream.ReadResource:
				for _, r := range s.Resources {
					list = append(list, resourceEntry(s, t.ID, r))
				}
			case upstream.GetPrompt:
				for _, p := range s.Prompts {
					list = append(list, promptEntry(s, t.ID, p))
				}
			}
		}
	}
	f.entries.set("offers", list)
}

func resourceEntry(s *discovery.Server, id string, r discovery.ListedResource) Entry {
	about := r.Description
	if r.MIMEType != "" {
		about = strings.TrimSpace(about + " (" + r.MIMEType + ")")
	}
	if r.Template {
		about = "Fill in the URI. " + about
	}
	return Entry{
		Entry: index.Entry{ID: s.Prefix + "__" + r.URI, Kind: kindResource, Server: s.Listing.Server, Name: cmp.Or(r.Name, r.URI), Title: r.Title,
			Description: strings.TrimSpace(about)},
		Call: id, Args: map[string]any{"uri": r.URI},
	}
}

func promptEntry(s *discovery.Server, id string, p discovery.ListedPrompt) Entry {
	arguments := make(map[string]string, len(p.Arguments))
	var optional []string
	for _, a := range p.Arguments {
		if a.Required {
			arguments[a.Name] = "<" + gate.Cut(cmp.Or(a.Description, a.Name), maxPlaceholder) + ">"
		} else {
			optional = append(optional, a.Name)
		}
	}
	args := map[string]any{"name": p.Name}
	if len(arguments) > 0 {
		args["arguments"] = arguments
	}
	e := Entry{Call: id, Args: args}
	e.Entry = index.Entry{ID: s.Prefix + "__" + p.Name, Kind: kindPrompt, Server: s.Listing.Server, Name: p.Name, Title: p.Title, Description: p.Description}
	if len(optional) > 0 {
		slices.Sort(optional)
		said := strings.TrimRight(e.Description, " .")
		if said != "" {
			said += ". "
		}
		e.Description = fmt.Sprintf("%sOptional arguments: %s.", said, strings.Join(optional, ", "))
	}
	return e
}

// maxPlaceholder bounds what is said of an argument in a call to copy, which is
// worth nothing once it is cut.
const maxPlaceholder = 40

// maxOffersFirst is how many prompts and resources keep their place among the
// tools that are found: a server may have a resource for each of a thousand files.
const maxOffersFirst = 3

// toolsFirst puts the others behind the tools.
func toolsFirst(results []result) []result {
	var front, behind []result
	offers := 0
	for _, r := range results {
		if r.isOffer() {
			offers++
		}
		if r.isOffer() && offers > maxOffersFirst {
			behind = append(behind, r)
		} else {
			front = append(front, r)
		}
	}
	return append(front, behind...)
}

// isOffer reports whether r is a prompt or a resource of a server.
func (r result) isOffer() bool { return r.entry != nil && r.entry.Call != "" }

func offersIn(results []result) int {
	n := 0
	for _, r := range results {
		if r.isOffer() {
			n++
		}
	}
	return n
}

// callUse says how to call a tool that reads an entry.
func callUse(id string, args map[string]any, callsOnly bool) string {
	if callsOnly {
		return "call_tool " + string(gate.Compact(map[string]any{"tool": id, "arguments": args}))
	}
	return fmt.Sprintf("callMCPTool('%s', %s)", id, gate.Compact(args))
}
