package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Remark is something that a workflow would be better without.
type Remark struct {
	// Code is one of unreachable-step, no-end, cycle-guard, max-visits-fails,
	// unknown-tool, unknown-value, branch-without-else, host-tool-name,
	// options-mismatch, too-many-options, host-branching, unused-subskill,
	// unused-topic, subskill-params.
	Code    string `json:"code"`
	Step    string `json:"step"` // or the subskill or topic
	Message string `json:"message"`
}

// maxOptions is how many options the tools of hosts show at most.
const maxOptions = 4

// A linter collects remarks.
type linter struct {
	w    *Workflow
	list []Remark
}

func (l *linter) remark(code, step, format string, args ...any) {
	l.list = append(l.list, Remark{code, step, fmt.Sprintf(format, args...)})
}

// Lint remarks on a workflow, sorted by step, then on the whole. knownTool
// reports whether there is a tool; nil knows them all.
func (w *Workflow) Lint(knownTool func(id string) bool) []Remark {
	l := &linter{w: w}
	reached := w.reach(w.def.Start)
	for _, name := range w.Subskills() { // those can be started by themselves
		a := w.areas[name]
		maps.Copy(reached, w.reach(a.prefix+a.def.Start))
	}
	for _, name := range slices.Sorted(maps.Keys(w.steps)) {
		n := w.steps[name]
		if n.ends != "" {
			continue // no step of the author's
		}
		l.way(name, n, reached)
		if a := n.Action; a != nil && a.Run == nil && knownTool != nil && !knownTool(a.Tool) {
			l.remark("unknown-tool", name, "there is no tool %s", a.Tool)
		}
		l.values(name, n.area, n.inside, "", w.values(n))
		l.prompt(name, n)
	}
	l.whole()
	return l.list
}

// values remarks on paths of an area, which stand in a field of a step or of the
// area itself. inside is that of the step.
func (l *linter) values(name string, a *area, inside, in string, paths []string) {
	for _, path := range paths {
		if what, ok := l.w.unknownValue(a, inside, path); !ok {
			l.remark("unknown-value", name, "%s{{%s}} names %s, which does not exist", in, path, what)
		}
	}
}

// way remarks on where a step leads.
func (l *linter) way(name string, n *node, reached map[string]bool) {
	switch {
	case !reached[name]:
		l.remark("unreachable-step", name, "no step leads to it")
	case !l.w.reach(name)[End]:
		l.remark("no-end", name, "nothing leads from it to %q", End)
	}
	if n.MaxVisits == 0 && l.w.follows(n)[name] && (n.prompts() || n.Action != nil) {
		l.remark("cycle-guard", name, "it can be come to again: say with maxVisits how often, and with onMaxVisits what then")
	}
	if n.MaxVisits > 0 && n.OnMaxVisits == "" {
		l.remark("max-visits-fails", name, "after %d visits the workflow fails: onMaxVisits says where to go instead", n.MaxVisits)
	}
	if k := len(n.Next); k > 0 && n.Next[k-1].When != nil {
		l.remark("branch-without-else", name, "when no condition holds the workflow fails: end with a branch that has none")
	}
}

// prompt remarks on the words of a step, and on options that its answer cannot
// be.
func (l *linter) prompt(name string, n *node) {
	text := n.Prompt.render(func(s string) string { return s }, "")
	for _, tool := range hostTools() {
		if regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(tool) + `($|[^\w-])`).MatchString(text) {
			l.remark("host-tool-name", name, "its prompt names %s, which only some hosts have: use an element such as ask-user or checklist", tool)
		}
	}
	for i := range n.Prompt {
		for _, q := range n.Prompt[i].questions() {
			if len(q.Options) > maxOptions {
				l.remark("too-many-options", name, "the question %q has %d options: the tools of hosts show %d at most", q.Question, len(q.Options), maxOptions)
			}
			l.options(name, n, q)
		}
	}
}

// options compares those of a question with the values that the answer may have.
func (l *linter) options(name string, n *node, q Question) {
	var s jsonschema.Schema
	if len(q.Options) == 0 || n.Answer == nil || json.Unmarshal(n.Answer, &s) != nil {
		return
	}
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[field]
		if p.Items != nil {
			p = p.Items
		}
		if len(p.Enum) == 0 || q.Key != "" && q.Key != field {
			continue
		}
		var missing []string
		left := slices.Clone(p.Enum)
		for _, o := range q.Options {
			i := slices.Index(left, any(o.Value))
			if i < 0 {
				missing = append(missing, o.Value)
				continue
			}
			left = slices.Delete(left, i, i+1)
		}
		if len(missing) > 0 || len(left) > 0 {
			l.remark("options-mismatch", name, "the options of %q are not the values of the field %s: not there: %v; without an option: %v", q.Question, field, missing, left)
		}
	}
}

// whole remarks on what is of no single step.
func (l *linter) whole() {
	for _, name := range slices.Sorted(maps.Keys(l.w.areas)) {
		a := l.w.areas[name]
		l.values(name, a, "", "in its result, ", variables(string(a.def.Result)))
		if a.subskill != nil {
			l.values(name, l.w.areas[""], "", "in its params, ", variables(string(a.subskill.Params)))
		}
	}
	led := map[string]bool{}
	var byTools []string
	for _, name := range slices.Sorted(maps.Keys(l.w.steps)) {
		n := l.w.steps[name]
		for _, to := range l.w.targets(n) {
			led[to] = true
		}
		if slices.ContainsFunc(n.Next, func(b Branch) bool {
			return b.When != nil && (b.When.Path == "host" || strings.HasPrefix(b.When.Path, "tools."))
		}) {
			byTools = append(byTools, name)
		}
		for _, b := range n.Next {
			l.subskillParams(name, b)
		}
	}
	if len(byTools) > 1 {
		l.remark("host-branching", "", "%d steps ask for the host or its tools (%s): an element such as ask-user is understood everywhere", len(byTools), strings.Join(byTools, ", "))
	}
	for _, name := range l.w.Subskills() {
		if !led[toSubskill+name] {
			l.remark("unused-subskill", name, "no step leads to it")
		}
	}
	for _, name := range l.w.Topics() {
		if !led[toTopic+name] && l.w.def.Topics[name].Label == "" {
			l.remark("unused-topic", name, "no step leads to it, and it has no label by which it is found")
		}
	}
}

// subskillParams remarks on a branch that gives a subskill less than it needs.
func (l *linter) subskillParams(step string, b Branch) {
	name, ok := strings.CutPrefix(b.To, toSubskill)
	a := l.w.areas[name]
	if !ok || a == nil || a.subskill.ParamsFunc != nil {
		return
	}
	given := b.With
	if len(given) == 0 {
		given = a.subskill.Params
	}
	var s jsonschema.Schema
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(a.def.Params, &s) // that it is a schema was checked
	_ = json.Unmarshal(given, &fields)
	for _, field := range s.Required {
		if _, there := fields[field]; !there {
			l.remark("subskill-params", step, "the subskill %s needs the param %s, and gets none", name, field)
		}
	}
}

// reach are the steps that can be come to from one, and End.
func (w *Workflow) reach(from string) map[string]bool {
	n, ok := w.steps[from]
	if !ok {
		return map[string]bool{}
	}
	seen := w.follows(n)
	seen[from] = true
	return seen
}

// targets are what a step leads to.
func (w *Workflow) targets(n *node) []string {
	list := slices.Clone(n.Targets)
	for _, b := range n.Next {
		list = append(list, b.To)
	}
	if n.OnMaxVisits != "" {
		list = append(list, n.OnMaxVisits)
	}
	return list
}

// follows are the steps that can come after one. Another skill and a topic are
// an end, a subskill is its first step.
func (w *Workflow) follows(n *node) map[string]bool {
	seen := map[string]bool{}
	todo := []*node{n}
	for len(todo) > 0 {
		n, todo = todo[0], todo[1:]
		for _, to := range w.targets(n) {
			if name, ok := strings.CutPrefix(to, toSubskill); ok {
				a := w.areas[name]
				to = a.prefix + a.def.Start
			} else if isElsewhere(to) {
				to = End
			}
			if next := w.steps[to]; !seen[to] && next != nil {
				todo = append(todo, next)
			}
			seen[to] = true
		}
	}
	return seen
}

// values are the paths that a step reads.
func (w *Workflow) values(n *node) []string {
	var texts strings.Builder
	prompt, _ := json.Marshal(n.Prompt) // of texts only
	texts.Write(prompt)
	if n.Action != nil {
		texts.Write(n.Action.Input)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Save)) {
		texts.Write(n.Save[name])
	}
	var paths []string
	for _, b := range n.Next {
		texts.Write(b.With)
		if b.When != nil {
			paths = append(paths, b.When.Path)
		}
	}
	return append(paths, variables(texts.String())...)
}

// variables are the paths in a template.
func variables(template string) (paths []string) {
	for _, m := range variable.FindAllStringSubmatch(template, -1) {
		paths = append(paths, m[1])
	}
	return paths
}

// hasParam reports whether an area is started with a param, as far as its schema
// names them all.
func (a *area) hasParam(name string) bool {
	var s jsonschema.Schema
	_ = json.Unmarshal(a.def.Params, &s) // that it is a schema was checked
	more := s.AdditionalProperties
	if len(s.Properties) == 0 || len(s.PatternProperties) > 0 || more != nil && more.Not == nil || s.Ref != "" || s.AllOf != nil || s.AnyOf != nil || s.OneOf != nil {
		return true
	}
	return s.Properties[name] != nil || slices.Contains(s.Required, name)
}

// unknownValue reports whether the beginning of a path exists, and names it if
// not.
func (w *Workflow) unknownValue(a *area, inside, path string) (what string, ok bool) {
	root, rest, _ := strings.Cut(path, ".")
	is := func(name string) bool { return rest == name || strings.HasPrefix(rest, name+".") }
	switch root {
	case "steps", "all", "visits":
		if n, _ := w.stepIn(a, inside, rest); n != nil {
			return "", true
		}
		return fmt.Sprintf("the step %q", rest), false
	case "params":
		if name, _, _ := strings.Cut(rest, "."); name != "" && !a.hasParam(name) {
			return fmt.Sprintf("the param %q", name), false
		}
	case "store":
		for name := range a.stores {
			if is(name) {
				return "", true
			}
		}
		return fmt.Sprintf("the store %q", rest), false
	}
	if slices.Contains(roots, root) {
		return "", true
	}
	return fmt.Sprintf("%q, not %s", root, strings.Join(roots, ", ")), false
}
