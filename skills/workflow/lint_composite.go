package workflow

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// composite reports on subskills and topics.
func (l *linter) composite() {
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(l.w.steps)) {
		n := l.w.steps[name]
		l.of = n.area
		for _, to := range n.leadsTo() {
			used[to] = true
		}
		for _, b := range n.Next {
			l.subskillParams(name, b)
		}
	}
	l.of = l.w.areas[""]
	l.duplicates("subskill", l.w.Subskills())
	l.duplicates("topic", l.w.Topics())
	for _, name := range l.w.Topics() {
		if !used[toTopic+name] && l.w.def.Topics[name].Label == "" {
			l.report("unused-topic", "", "nothing mentions topic %q: lead to it, or give it a label by which it is found", name)
		}
	}
	for _, name := range l.w.Subskills() {
		l.of = l.w.areas[""] // whose values its params are made of
		l.values("", variables(string(l.w.areas[name].given)))
		if l.of = l.w.areas[name]; !used[toSubskill+name] {
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
