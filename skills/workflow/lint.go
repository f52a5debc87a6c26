package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Remark is something that a workflow would be better without.
type Remark struct {
	// Code is one of unreachable-step, no-end, cycle-guard, max-visits-fails,
	// unknown-tool, unknown-value, branch-without-else.
	Code    string `json:"code"`
	Step    string `json:"step"`
	Message string `json:"message"`
}

// Lint remarks on a workflow, sorted by step. knownTool reports whether there
// is a tool; nil knows them all.
func (w *Workflow) Lint(knownTool func(id string) bool) []Remark {
	var list []Remark
	remark := func(code, step, format string, args ...any) {
		list = append(list, Remark{code, step, fmt.Sprintf(format, args...)})
	}
	reached := w.reach(w.def.Start)
	for _, name := range slices.Sorted(maps.Keys(w.steps)) {
		s := w.steps[name]
		inner := strings.HasSuffix(name, "/"+End)
		switch {
		case !reached[name] && !inner:
			remark("unreachable-step", name, "no step leads to it")
		case reached[name] && !w.reach(name)[End]:
			remark("no-end", name, "nothing leads from it to %q", End)
		}
		if s.MaxVisits == 0 && !inner && w.follows(s)[name] && (s.Prompt != "" || s.Action != nil) {
			remark("cycle-guard", name, "it can be come to again: say with maxVisits how often, and with onMaxVisits what then")
		}
		if s.MaxVisits > 0 && s.OnMaxVisits == "" && !inner {
			remark("max-visits-fails", name, "after %d visits the workflow fails: onMaxVisits says where to go instead", s.MaxVisits)
		}
		if s.Action != nil && knownTool != nil && !knownTool(s.Action.Tool) {
			remark("unknown-tool", name, "there is no tool %s", s.Action.Tool)
		}
		if n := len(s.Next); n > 0 && s.Next[n-1].When != nil {
			remark("branch-without-else", name, "when no condition holds the workflow fails: end with a branch that has none")
		}
		for _, path := range w.values(s) {
			if step, ok := w.unknownValue(path); !ok {
				remark("unknown-value", name, "{{%s}} names %s, which does not exist", path, step)
			}
		}
	}
	return list
}

// reach are the steps that can be come to from one, and End.
func (w *Workflow) reach(from string) map[string]bool {
	s, ok := w.steps[from]
	if !ok {
		return nil
	}
	seen := w.follows(s)
	seen[from] = true
	return seen
}

// follows are the steps that can come after one.
func (w *Workflow) follows(s *Step) map[string]bool {
	seen := map[string]bool{}
	todo := []*Step{s}
	for len(todo) > 0 {
		s, todo = todo[0], todo[1:]
		targets := []string{}
		for _, b := range s.Next {
			targets = append(targets, b.To)
		}
		if s.OnMaxVisits != "" {
			targets = append(targets, s.OnMaxVisits)
		}
		for _, to := range targets {
			if next := w.steps[to]; !seen[to] && next != nil {
				todo = append(todo, next)
			}
			seen[to] = true
		}
	}
	return seen
}

// values are the paths that a step reads.
func (w *Workflow) values(s *Step) []string {
	texts := s.Prompt
	if s.Action != nil {
		texts += string(s.Action.Input)
	}
	var paths []string
	for _, m := range variable.FindAllStringSubmatch(texts, -1) {
		paths = append(paths, m[1])
	}
	for _, b := range s.Next {
		if b.When != nil {
			paths = append(paths, b.When.Path)
		}
	}
	return paths
}

// unknownValue reports whether the beginning of a path exists, and names it if
// not.
func (w *Workflow) unknownValue(path string) (what string, ok bool) {
	root, rest, _ := strings.Cut(path, ".")
	switch root {
	case "params", "answer":
		return "", true
	case "steps":
		for name := range w.steps {
			if rest == name || strings.HasPrefix(rest, name+".") {
				return "", true
			}
		}
		return fmt.Sprintf("the step %q", rest), false
	}
	return fmt.Sprintf("%q, not params, steps or answer", root), false
}
