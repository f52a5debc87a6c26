package upstream

import (
	"encoding/json"
	"slices"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// listing hides the values in what a server says of itself and what it offers,
// before that is kept or shown. What could not be used any more under another
// name is left out, with a line that says so.
func (h *hider) listing(l *discovery.Listing) {
	if h == nil || h.clean(l) {
		return
	}
	l.Version, l.Instructions, l.Protocol = h.in(l.Version), h.in(l.Instructions), h.in(l.Protocol)
	l.Description = h.in(l.Description)
	l.Origin.Command, l.Origin.URL = h.in(l.Origin.Command), h.in(l.Origin.URL)
	left := func(what string) { l.Problems = append(l.Problems, what+" was left out: its name has a secret in it") }
	l.Tools = usable(l.Tools, func(t *discovery.ListedTool) bool {
		t.Title, t.Description = h.in(t.Title), h.in(t.Description)
		t.InputSchema, t.OutputSchema = h.inSchema(t.InputSchema), h.inSchema(t.OutputSchema)
		return h.nameless(t.Name)
	}, func() { left("a tool") })
	l.Prompts = usable(l.Prompts, func(p *discovery.ListedPrompt) bool {
		p.Title, p.Description = h.in(p.Title), h.in(p.Description)
		p.Arguments = slices.Clone(p.Arguments)
		for i := range p.Arguments {
			p.Arguments[i].Description = h.in(p.Arguments[i].Description)
		}
		return h.nameless(p.Name) && !slices.ContainsFunc(p.Arguments, func(a discovery.PromptArgument) bool { return !h.nameless(a.Name) })
	}, func() { left("a prompt") })
	l.Resources = usable(l.Resources, func(r *discovery.ListedResource) bool {
		r.Name, r.Title, r.Description, r.MIMEType = h.in(r.Name), h.in(r.Title), h.in(r.Description), h.in(r.MIMEType)
		return h.nameless(r.URI)
	}, func() { left("a resource") })
	l.Skills = usable(l.Skills, func(k *discovery.ListedSkill) bool {
		k.Frontmatter = h.inJSON(k.Frontmatter)
		return h.nameless(k.URI) && h.nameless(string(k.Resources))
	}, func() {
		l.SkillProblems = append(l.SkillProblems, "a skill was left out: its address has a secret in it")
	})
	l.Problems, l.SkillProblems = h.lines(l.Problems), h.lines(l.SkillProblems)
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

// clean reports whether nothing of a listing is a value to be hidden.
func (h *hider) clean(l *discovery.Listing) bool {
	raw := string(gate.Compact(l))
	return h.json.Replace(raw) == raw
}

// nameless reports whether a name has no secret in it.
func (h *hider) nameless(name string) bool {
	escaped := jsonEscaped(name)
	return h.secret.Replace(escaped) == escaped
}

// inSchema is inJSON for a schema: a value that looks public may be one that the
// tool takes.
func (h *hider) inSchema(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	return json.RawMessage(h.secret.Replace(string(raw)))
}

func (h *hider) lines(list []string) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, line := range list {
		out[i] = h.in(line)
	}
	return out
}
