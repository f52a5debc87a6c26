package hide

import (
	"encoding/json"
	"slices"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// Listing hides the values in a server's description of itself and its offers, before
// they are stored or shown. It omits offers that could not be used under another name,
// with a note.
func (h *Hider) Listing(l *discovery.Listing) {
	if h == nil {
		return
	}
	raw := plain(gate.Compact(l))
	if hidden := h.json.Replace(string(raw)); hidden == string(raw) {
		return // the common case
	}
	replace(l, raw)
	l.Version, l.Instructions, l.Protocol = h.In(l.Version), h.In(l.Instructions), h.In(l.Protocol)
	l.Description = h.In(l.Description)
	l.Origin.Command, l.Origin.URL = h.In(l.Origin.Command), h.In(l.Origin.URL)
	l.Origin.Version, l.Origin.Package = h.In(l.Origin.Version), h.In(l.Origin.Package)
	left := func(what string) { l.Problems = append(l.Problems, what+" was left out: its name has a secret in it") }
	l.Tools = usable(l.Tools, func(t *discovery.ListedTool) bool {
		t.Title, t.Description = h.In(t.Title), h.In(t.Description)
		t.InputSchema, t.OutputSchema = h.InSchema(t.InputSchema), h.InSchema(t.OutputSchema)
		return h.nameless(t.Name)
	}, func() { left("a tool") })
	l.Prompts = usable(l.Prompts, func(p *discovery.ListedPrompt) bool {
		p.Title, p.Description = h.In(p.Title), h.In(p.Description)
		p.Arguments = slices.Clone(p.Arguments)
		for i := range p.Arguments {
			p.Arguments[i].Description = h.In(p.Arguments[i].Description)
		}
		return h.nameless(p.Name) && !slices.ContainsFunc(p.Arguments, func(a discovery.PromptArgument) bool { return !h.nameless(a.Name) })
	}, func() { left("a prompt") })
	l.Resources = usable(l.Resources, func(r *discovery.ListedResource) bool {
		r.Name, r.Title, r.Description, r.MIMEType = h.In(r.Name), h.In(r.Title), h.In(r.Description), h.In(r.MIMEType)
		return h.nameless(r.URI)
	}, func() { left("a resource") })
	l.Skills = usable(l.Skills, func(k *discovery.ListedSkill) bool {
		k.Frontmatter = h.InJSON(k.Frontmatter)
		return h.nameless(k.URI) && h.nameless(string(k.Resources))
	}, func() {
		l.SkillProblems = append(l.SkillProblems, "a skill was left out: its address has a secret in it")
	})
	l.Problems, l.SkillProblems = h.lines(l.Problems), h.lines(l.SkillProblems)
	h.rest(l)
}

// rest hides secrets in all other fields of a listing, including fields that are added
// in the future: a listing is stored on disk.
func (h *Hider) rest(l *discovery.Listing) {
	raw := string(gate.Compact(l))
	hidden := h.secret.Replace(raw)
	if hidden == raw || replace(l, []byte(hidden)) {
		return
	}
	*l = discovery.Listing{Server: l.Server, Transport: l.Transport, Problems: []string{"the server's listing was left out: it has a secret that cannot be hidden"}}
}

// replace sets l to the value of the JSON raw, and reports whether it could.
func replace(l *discovery.Listing, raw []byte) bool {
	decoded := discovery.Listing{Held: l.Held}
	if json.Unmarshal(raw, &decoded) != nil {
		return false
	}
	*l = decoded
	return true
}

// usable are the entries of list, changed by hide, without those for which it is
// false. The list itself is not changed.
func usable[T any](list []T, hide func(*T) bool, left func()) []T {
	if list == nil {
		return nil
	}
	out := make([]T, 0, len(list))
	for _, e := range list {
		if hide(&e) {
			out = append(out, e)
		} else {
			left()
		}
	}
	return out
}

// nameless reports whether a name has no secret in it.
func (h *Hider) nameless(name string) bool {
	escaped := jsonEscaped(name)
	return h.secret.Replace(escaped) == escaped
}

// InSchema is InJSON for a schema: it does not hide plain values, which may be values
// that the tool takes.
func (h *Hider) InSchema(raw json.RawMessage) json.RawMessage {
	if h == nil || len(raw) == 0 {
		return raw
	}
	return json.RawMessage(h.secret.Replace(string(plain(raw))))
}

func (h *Hider) lines(list []string) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, line := range list {
		out[i] = h.In(line)
	}
	return out
}
