package workflow

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
)

// composite reports on subskills and topics.
func (l *linter) composite() {
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(l.w.steps)) {
		n := l.w.steps[name]
		l.current = n.area
		for _, to := range n.leadsTo() {
			used[to] = true
		}
		for _, b := range n.Next {
			l.subskillParams(name, b)
		}
	}
	l.current = l.w.areas[""]
	l.duplicates("subskill", l.w.Subskills())
	l.duplicates("topic", l.w.Topics())
	for _, name := range l.w.Topics() {
		if !used[toTopic+name] && l.w.def.Topics[name].Label == "" {
			l.report("unused-topic", "", "nothing mentions topic %q: lead to it, or give it a label by which it is found", name)
		}
	}
	for _, name := range l.w.Subskills() {
		l.current = l.w.areas[""] // source of the values in its params
		l.values("", variables(string(l.w.areas[name].given)))
		if l.current = l.w.areas[name]; !used[toSubskill+name] {
			l.report("unused-subskill", "", "no step leads to it: it can only be started by itself")
		}
	}
}

// duplicates reports names that differ only in their case; the same name twice
// is a mistake that Parse reports.
func (l *linter) duplicates(what string, names []string) {
	for i, name := range names {
		if j := slices.IndexFunc(names[:i], func(other string) bool { return strings.EqualFold(other, name) }); j >= 0 {
			l.report("duplicate-"+what, "", "%ss %q and %q differ only in their case", what, names[j], name)
		}
	}
}

// subskillParams reports a branch that does not give a subskill what it requires.
func (l *linter) subskillParams(step string, b Branch) {
	name, ok := strings.CutPrefix(b.To, toSubskill)
	if !ok {
		return
	}
	a := l.w.areas[name]
	given := b.With
	if len(given) == 0 {
		given = a.given
	}
	var s jsonschema.Schema
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(a.def.Params, &s) // it is a valid schema
	if len(given) > 0 && json.Unmarshal(given, &fields) != nil {
		return // one {{…}} that becomes the params
	}
	for _, field := range s.Required {
		if _, ok := fields[field]; !ok {
			l.report("subskill-params", step, "it leads to subskill %q without the param %q, which that requires", name, field)
		}
	}
}

// prompt reports names of tools in the prompt of a step that only some hosts have,
// and options that its answer cannot be.
func (l *linter) prompt(step string, n *node) {
	text := n.Prompt.render(func(s string) string { return s }, "")
	words := strings.FieldsFunc(text, func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, tool := range hostTools() {
		if slices.Contains(words, tool) {
			l.report("host-tool-name", step, "its prompt names %s, a tool that only some hosts have: use an element such as ask-user or checklist", tool)
		}
	}
	var s jsonschema.Schema
	if n.Answer == nil || json.Unmarshal(n.Answer, &s) != nil {
		return
	}
	for i := range n.Prompt {
		for _, q := range n.Prompt[i].questions() {
			l.options(step, &s, q)
		}
	}
}

// options compares the options of a question with what its field of the answer
// may be.
func (l *linter) options(step string, s *jsonschema.Schema, q Question) {
	p := s.Properties[q.key()]
	if p == nil {
		if len(s.Properties) > 0 {
			l.report("options-mismatch", step, "the answer's schema has no field %q for the question %q", q.key(), q.Question)
		}
		return
	}
	if p.Items != nil {
		p = p.Items
	}
	if len(p.Enum) == 0 || len(q.Options) == 0 {
		return
	}
	for _, o := range q.Options {
		if !slices.Contains(p.Enum, any(o.Value)) {
			l.report("options-mismatch", step, "the answer's schema lacks the option %q of the question %q", o.Value, q.Question)
		}
	}
	for _, value := range p.Enum {
		if !slices.ContainsFunc(q.Options, func(o Option) bool { return any(o.Value) == value }) {
			l.report("options-mismatch", step, "the question %q has no option for %s, which the answer's schema takes", q.Question, encode(value))
		}
	}
}
