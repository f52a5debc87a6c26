package pins

import (
	"encoding/json"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy/pin"
	"github.com/mcpbroker/mcpbroker/policy/scan"
	"github.com/mcpbroker/mcpbroker/state"
)

// An item is a thing that a server offers. All kinds of items are represented as tools, so that
// one digest, one diff and one scan work for all.
type item struct {
	name       state.PinName
	definition json.RawMessage
	digest     string // empty if the definition cannot be read
	known      bool   // something of its kind was pinned before
}

type object map[string]any

// items returns the items of a listing that need approval. It caches the digests of the last
// listing.
func (s *Store) items(l *discovery.Listing) []item {
	known := s.digests[l.Server]
	if !same(&known.listing, l) {
		known.list = nil
	}
	list := items(l, known.list)
	if known.list == nil {
		known = digested{listing: *l, list: make([]string, len(list))}
		for i := range list {
			known.list[i] = list[i].digest
		}
		s.digests[l.Server] = known
	}
	return list
}

// A digested is a listing and the digests of its items.
type digested struct {
	listing discovery.Listing
	list    []string
}

// items returns the items of a listing that need approval; digests are theirs, if known.
func items(l *discovery.Listing, digests []string) []item {
	list := make([]item, 0, len(l.Tools)+len(l.Prompts)+len(l.Resources)+len(l.Skills)+2)
	add := func(kind, name string, definition any) {
		data, err := json.Marshal(definition)
		if err != nil {
			data = json.RawMessage("{}") // texts, booleans, and JSON that was read
		}
		it := item{name: state.PinName{Kind: kind, Name: name}, definition: data}
		if n := len(list); n < len(digests) {
			it.digest = digests[n]
		} else {
			it.digest, _ = pin.Digest(data)
		}
		list = append(list, it)
	}
	if l.Origin != (discovery.Origin{}) {
		add(state.PinServer, "", object{"annotations": l.Origin})
	}
	if l.Instructions != "" {
		add(state.PinInstructions, "", object{"description": l.Instructions})
	}
	for i := range l.Tools {
		add(state.PinTool, l.Tools[i].Name, &l.Tools[i])
	}
	for _, p := range l.Prompts {
		arguments := object{}
		for _, a := range p.Arguments {
			arguments[a.Name] = object{"description": a.Description, "required": a.Required}
		}
		add(state.PinPrompt, p.Name, object{"name": p.Name, "title": p.Title, "description": p.Description, "inputSchema": object{"properties": arguments}})
	}
	for _, r := range l.Resources {
		add(state.PinResource, r.URI, object{"name": r.Name, "title": r.Title, "description": r.Description, "annotations": object{"uri": r.URI, "mimeType": r.MIMEType, "template": r.Template}})
	}
	for _, k := range l.Skills {
		var header struct{ Name, Description string }
		_ = json.Unmarshal(k.Frontmatter, &header) // missing fields are empty
		add(state.PinSkill, k.URI, object{"name": header.Name, "description": header.Description, "outputSchema": object{"header": k.Frontmatter, "files": files(k.Resources)}})
	}
	return list
}

// files returns the digests of the files of a skill, by address, so that the pin covers SKILL.md
// and all other files.
func files(raw json.RawMessage) any {
	var list []struct{ URI, Digest string }
	if json.Unmarshal(raw, &list) != nil {
		return raw
	}
	of := object{}
	for _, f := range list {
		of[f.URI] = f.Digest
	}
	return of
}

// A view contains the listings of all servers at one time.
type view struct {
	store  *Store
	all    []discovery.Listing
	others *scan.Others
}

// scan scans one item, with the tools of all servers as context.
func (v *view) scan(server string, it *item) scan.Report {
	if v.others == nil {
		v.others = &scan.Others{}
		for i := range v.all {
			for _, t := range v.all[i].Tools {
				v.others.Add(v.all[i].Server, t.Name, t.Description)
			}
		}
	}
	var d struct{ Name, Title, Description string }
	switch it.name.Kind {
	case state.PinServer:
		return scan.Report{}
	case state.PinTool, state.PinPrompt:
		return scan.Tool(server, it.definition, v.others)
	}
	_ = json.Unmarshal(it.definition, &d) // its fields are strings
	var report scan.Report
	for _, f := range [][2]string{{"name", d.Name}, {"title", d.Title}, {"description", d.Description}} {
		r := scan.Text(server, f[0], f[1], v.others)
		report.Verdict = max(report.Verdict, r.Verdict)
		report.Findings = append(report.Findings, r.Findings...)
	}
	return report
}

// judge compares a listing with its pins; nil pins mean a new server.
func (v *view) judge(l *discovery.Listing, pins map[state.PinName]state.Pin) []Row {
	kinds := map[string]bool{}
	for n := range pins {
		kinds[n.Kind] = true
	}
	listed := map[state.PinName]bool{}
	var rows []Row
	for _, it := range v.store.items(l) {
		if listed[it.name] {
			continue
		}
		listed[it.name] = true
		it.known = kinds[it.name.Kind]
		rows = append(rows, v.compare(l.Server, it, pins))
	}
	for n, p := range pins {
		if !listed[n] && p.Digest != "" && !p.Blocked {
			rows = append(rows, Row{Server: l.Server, PinName: n, State: Gone, pinned: p})
		}
	}
	return rows
}

// compare returns the state of one item.
func (v *view) compare(server string, it item, pins map[state.PinName]state.Pin) Row {
	p := pins[it.name]
	r := Row{Server: server, PinName: it.name, State: Approved, item: it, pinned: p}
	if it.digest != "" && p.Digest == it.digest && !p.Blocked {
		_ = r.Verdict.UnmarshalText([]byte(p.Verdict))
		if it.name.Kind != state.PinInstructions || p.ByPerson || r.Verdict == scan.Pass {
			return r
		}
		p.Digest, it.known = "", false // pinned before instructions reached models
	}
	report := v.scan(server, &it)
	r.Verdict, r.Findings = report.Verdict, report.Findings
	mode := v.store.o.Mode
	switch {
	case p.Blocked:
		r.State, r.Held = Blocked, true
	case p.Digest != "":
		r.State = Changed
		var err error
		r.Changes, err = pin.Diff(p.Definition, it.definition)
		var before scan.Verdict
		_ = before.UnmarshalText([]byte(p.Verdict))
		r.Held = err != nil || mode != On || pin.Worst(r.Changes) > pin.Words || r.Verdict > before || r.Verdict > scan.Pass
		if it.name.Kind == state.PinServer { // versions of packages change weekly
			r.Held = err != nil || mode == Strict
		}
	case !it.known && it.name.Kind == state.PinInstructions: // they tell models what to do
		r.State = New
		r.Held = mode == Strict || r.Verdict > scan.Pass
	case !it.known:
		r.State = New
		r.Held = mode == Strict || r.Verdict == scan.Block
	default:
		r.State = New
		r.Held = mode != On || r.Verdict > scan.Pass
	}
	if r.Held && r.Verdict == scan.Block && r.State == New {
		r.State = Blocked
	}
	return r
}
