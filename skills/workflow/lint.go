package workflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Remark is something in a workflow that is probably a mistake.
type Remark struct {
	// Code is one of unreachable-step, no-end, cycle-guard, unknown-tool,
	// unknown-value, branch-without-else, host-tool-name, options-mismatch,
	// duplicate-subskill, duplicate-topic, unused-subskill, unused-topic,
	// unused-store, subskill-params.
	Code string `json:"code"`
	Step string `json:"step"` // empty outside of steps
	// Message begins with [subskill:NAME] if it is about a subskill.
	Message string `json:"message"`
}

// A linter collects problems.
type linter struct {
	w       *Workflow
	current *area // that is looked at
	list    []Remark
}

func (l *linter) report(code, step, format string, args ...any) {
	l.list = append(l.list, Remark{code, step, l.current.label() + fmt.Sprintf(format, args...)})
}

// Lint reports probable mistakes of a workflow, sorted by step. knownTool reports
// whether a tool exists; nil means that all do.
func (w *Workflow) Lint(knownTool func(id string) bool) []Remark {
	l := &linter{w: w}
	reached := map[string]bool{}
	for _, a := range w.areas { // each can be started by itself
		start := a.prefix() + a.def.Start
		reached[start] = true
		maps.Copy(reached, w.follows(w.steps[start]))
	}
	for _, name := range slices.Sorted(maps.Keys(w.steps)) {
		n := w.steps[name]
		l.current = n.area
		l.ways(name, n, reached)
		if a := n.Action; a != nil && a.Run == nil && knownTool != nil && !knownTool(a.Tool) {
			l.report("unknown-tool", name, "there is no tool %s", a.Tool)
		}
		l.values(name, n.paths())
		l.prompt(name, n)
	}
	for _, name := range slices.Sorted(maps.Keys(w.areas)) {
		l.current = w.areas[name]
		l.values("", variables(string(l.current.def.Result)))
		l.stores()
	}
	l.composite()
	return l.list
}

// ways reports on where a step leads.
func (l *linter) ways(name string, n *node, reached map[string]bool) {
	next := l.w.follows(n)
	switch {
	case !reached[name]:
		l.report("unreachable-step", name, "no step leads to it")
	case !next[End]:
		l.report("no-end", name, "nothing leads from it to %q", End)
	}
	if n.MaxVisits == 0 && next[name] && (n.prompts() || n.Action != nil) {
		l.report("cycle-guard", name, "it can be visited again: say with maxVisits how often, and with onMaxVisits what comes then")
	}
	if k := len(n.Next); k > 0 && n.Next[k-1].When != nil {
		l.report("branch-without-else", name, "when no condition holds the workflow fails: end with a branch that has none")
	}
}

// leadsTo are the targets of a step.
func (n *node) leadsTo() []string {
	targets := append(slices.Clone(n.Targets), n.OnMaxVisits)
	for _, b := range n.Next {
		targets = append(targets, b.To)
	}
	return targets
}

// follows are the steps that can come after one, and End, which another skill and
// a topic are too. A subskill is its first step.
func (w *Workflow) follows(n *node) map[string]bool {
	seen := map[string]bool{}
	todo := []*node{n}
	for len(todo) > 0 {
		n, todo = todo[0], todo[1:]
		for _, to := range n.leadsTo() {
			if name, ok := strings.CutPrefix(to, toSubskill); ok {
				a := w.areas[name]
				to = a.prefix() + a.def.Start
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

// values reports paths that lead to nothing, in a step or in the result.
func (l *linter) values(step string, paths []string) {
	for _, path := range paths {
		root, rest, _ := strings.Cut(path, ".")
		name, _, _ := strings.Cut(rest, ".")
		switch {
		case !slices.Contains(roots, root):
			l.report("unknown-value", step, "{{%s}}: there is no %q; values are %s", path, root, strings.Join(roots, ", "))
		case slices.Contains([]string{"steps", "all", "visits"}, root) && l.current.def.Steps[name] == nil:
			l.report("unknown-value", step, "{{%s}}: there is no step %q", path, name)
		case root == "store" && name != "" && !slices.Contains(slices.Collect(maps.Keys(l.current.stores)), name):
			l.report("unknown-value", step, "{{%s}}: there is no store %q", path, name)
		case root == "params" && name != "" && !l.current.hasParam(name):
			l.report("unknown-value", step, "{{%s}}: there is no param %q", path, name)
		}
	}
}

// hasParam reports whether an area is started with a param, as far as its schema
// names them all.
func (a *area) hasParam(name string) bool {
	var s jsonschema.Schema
	_ = json.Unmarshal(a.def.Params, &s) // it is a valid schema
	more := s.AdditionalProperties
	if len(s.Properties) == 0 || len(s.PatternProperties) > 0 || more != nil && more.Not == nil || s.Ref != "" || s.AllOf != nil || s.AnyOf != nil || s.OneOf != nil {
		return true
	}
	return s.Properties[name] != nil || slices.Contains(s.Required, name)
}
