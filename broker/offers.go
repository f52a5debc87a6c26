package broker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
)

// The kinds of search hits that servers offer beside tools.
const (
	kindPrompt   = "prompt"
	kindResource = "resource"
)

// What follows the server's prefix in the ids by which scripts read them. Such
// an id is no tool of the catalogue: it is not listed, counted or wrapped, and a
// tool of that name has it.
const (
	readResource = "read_resource"
	getPrompt    = "get_prompt"
)

// offerTools are the tools that read the prompts and resources of a catalogue,
// by id.
type offerTools struct {
	scope *discovery.Catalog
	byID  map[string]*discovery.Tool
}

// offerTool finds the tool behind an id such as "docs__read_resource", in any
// form that the name of a tool can have.
func (b *Broker) offerTool(scope *discovery.Catalog, name string) (*discovery.Tool, bool) {
	s, ok := scope.ServerOf(name)
	if !ok {
		return nil, false
	}
	o := b.offers.Load()
	if o == nil || o.scope != scope {
		o = &offerTools{scope, make(map[string]*discovery.Tool)}
		for _, s := range scope.Servers() {
			for _, t := range toolsOfOffers(scope, s) {
				o.byID[t.ID] = t
			}
		}
		b.offers.Store(o)
	}
	switch last := lastPart(name); {
	case strings.EqualFold(last, readResource) || last == "readResource":
		name = s.Prefix + "__" + readResource
	case strings.EqualFold(last, getPrompt) || last == "getPrompt":
		name = s.Prefix + "__" + getPrompt
	}
	t, ok := o.byID[name]
	return t, ok
}

// toolsOfOffers are those of one server; none for what it does not have.
func toolsOfOffers(scope *discovery.Catalog, s *discovery.Server) []*discovery.Tool {
	readOnly := true
	add := func(list []*discovery.Tool, name, method, description, schema string) []*discovery.Tool {
		id := s.Prefix + "__" + name
		if _, taken := scope.Tool(id); taken {
			return list
		}
		return append(list, &discovery.Tool{ID: id, Server: s.Listing.Server, ListedTool: discovery.ListedTool{
			Name: method, Description: description, InputSchema: json.RawMessage(schema), Annotations: discovery.Annotations{ReadOnly: &readOnly},
		}})
	}
	var list []*discovery.Tool
	if len(s.Resources) > 0 {
		list = add(list, readResource, upstream.ReadResource, "Read a resource of this server by its URI.",
			`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"],"additionalProperties":false}`)
	}
	if len(s.Prompts) > 0 {
		list = add(list, getPrompt, upstream.GetPrompt, "Get a prompt of this server with its arguments filled in.",
			`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","additionalProperties":{"type":"string"}}},"required":["name"],"additionalProperties":false}`)
	}
	return list
}

// enterOffers makes the prompts and resources of the servers hits of
// search_tools.
func (b *Broker) enterOffers(scope *discovery.Catalog) {
	var list []entry
	for _, s := range scope.Servers() {
		for _, t := range toolsOfOffers(scope, s) {
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
	b.entries.set("offers", list)
}

func resourceEntry(s *discovery.Server, id string, r discovery.ListedResource) entry {
	about := r.Description
	if r.MIMEType != "" {
		about = strings.TrimSpace(about + " (" + r.MIMEType + ")")
	}
	if r.Template {
		about = "Fill in the URI. " + about
	}
	return entry{
		Entry: index.Entry{ID: s.Prefix + "__" + r.URI, Kind: kindResource, Server: s.Listing.Server, Name: cmp.Or(r.Name, r.URI), Title: r.Title,
			Description: strings.TrimSpace(about)},
		id: id, args: map[string]any{"uri": r.URI},
	}
}

func promptEntry(s *discovery.Server, id string, p discovery.ListedPrompt) entry {
	arguments := make(map[string]string, len(p.Arguments))
	var optional []string
	for _, a := range p.Arguments {
		if a.Required {
			arguments[a.Name] = "<" + clip(cmp.Or(a.Description, a.Name), maxPlaceholder) + ">"
		} else {
			optional = append(optional, a.Name)
		}
	}
	args := map[string]any{"name": p.Name}
	if len(arguments) > 0 {
		args["arguments"] = arguments
	}
	e := entry{id: id, args: args}
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
func (r result) isOffer() bool { return r.entry != nil && r.entry.id != "" }

func offersIn(results []result) int {
	n := 0
	for _, r := range results {
		if r.isOffer() {
			n++
		}
	}
	return n
}

// callUse says how to call a tool that search found something for.
func callUse(id string, args map[string]any, callsOnly bool) string {
	if callsOnly {
		return "call_tool " + string(compactJSON(map[string]any{"tool": id, "arguments": args}))
	}
	return fmt.Sprintf("callMCPTool('%s', %s)", id, compactJSON(args))
}
