package jsrun

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// knows reports whether a name means something without a declaration: it is a
// global, or one that says what to use instead.
func (r *runtime) knows(name string) bool {
	return r.also[name] || withheld[name] != "" || libGlobals[name] != "" || r.vm.GlobalObject().Get(name) != nil
}

// check hands what the program says of itself to whoever asked for it, and
// returns the problems that keep it from running.
func (r *runtime) check(ctx context.Context) (*refusal, []string) {
	if r.prog.Check == nil {
		return nil, nil
	}
	src, parsed := r.script.source, r.script.parsed
	parsed.Names = slices.DeleteFunc(parsed.Names, func(n sandbox.FreeName) bool {
		return r.knows(n.Name)
	})
	parsed.Names = parsed.Names[:min(len(parsed.Names), maxSites)]
	var whole composed
	if r.prog.CheckSource && r.prog.Language != sandbox.JavaScript {
		if problems := src.outside(r.prog); len(problems) > 0 {
			return &refusal{problems}, nil
		}
		whole = src.compose(r.prog.Modules)
		parsed.Source = whole.text
	}
	if len(parsed.Calls) == 0 && len(parsed.Names) == 0 && parsed.Source == "" {
		return nil, nil
	}
	verdict := r.prog.Check(ctx, parsed)
	r.hints, r.reads.shapes, r.reads.sites = verdict.Hints, verdict.Shapes, r.script.reads
	if len(verdict.Problems) == 0 {
		return nil, verdict.Notes
	}
	e := &refusal{}
	for _, p := range verdict.Problems {
		offset := p.Offset
		if p.InSource {
			offset = whole.origin(offset)
		}
		text := src.located(max(0, offset), p.Message)
		if p.Hint != "" {
			text += "\n" + strings.TrimSuffix(p.Hint, "\n")
		}
		if !slices.Contains(e.problems, text) {
			e.problems = append(e.problems, text)
		}
	}
	return e, verdict.Notes
}
