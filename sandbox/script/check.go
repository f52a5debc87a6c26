package script

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Ask passes what the program contains to Request.Check: the calls that it makes, and its
// undeclared names that knows does not know. An error keeps it from running.
func (t *Tree) Ask(ctx context.Context, knows func(name string) bool) (sandbox.Verdict, error) {
	var verdict sandbox.Verdict
	if t.Check == nil {
		return verdict, nil
	}
	parsed := t.parsed
	parsed.Names = slices.DeleteFunc(slices.Clone(parsed.Names), func(n sandbox.FreeName) bool {
		return Withheld[n.Name] != "" && !n.Called || Withheld[n.Name] == "" && knows(n.Name)
	})
	for i := range parsed.Names {
		parsed.Names[i].Withheld = Withheld[parsed.Names[i].Name] != ""
	}
	parsed.Names = parsed.Names[:min(len(parsed.Names), maxSites)]
	var whole composed
	if t.CheckSource && t.Language != sandbox.JavaScript {
		if problems := t.outside(); len(problems) > 0 {
			return verdict, &Refusal{Problems: problems}
		}
		whole = t.compose()
		parsed.Source = whole.text
	}
	if len(parsed.Calls) == 0 && len(parsed.Names) == 0 && parsed.Source == "" {
		return verdict, nil
	}
	verdict = t.Check(ctx, parsed)
	if len(verdict.Problems) == 0 {
		return verdict, nil
	}
	e := &Refusal{}
	for _, p := range verdict.Problems {
		offset := p.Offset
		if p.InSource {
			offset = whole.origin(offset)
		}
		text := t.Located(max(0, offset), p.Message)
		if p.Hint != "" {
			text += "\n" + strings.TrimSuffix(p.Hint, "\n")
		}
		if !slices.Contains(e.Problems, text) {
			e.Problems = append(e.Problems, text)
		}
	}
	return verdict, e
}

// Hint returns where an undefined name is available; hints are those of the verdict.
func (src *Source) Hint(missing string, hints map[string]string) string {
	if hint := hints[missing]; hint != "" {
		return hint
	}
	if reason, ok := Withheld[missing]; ok { // in code that was created at run time
		return reason
	}
	var globals []string
	for _, mod := range src.Modules {
		if slices.Contains(mod.Exports, missing) {
			return fmt.Sprintf("import { %s } from './%s';", missing, mod.Path)
		}
		if mod.Global != "" {
			globals = append(globals, mod.Global)
		}
	}
	// Modules that the program does not mention are known by path alone; a server's namespace is
	// named like its folder.
	for _, path := range src.ModuleNames {
		if folder, ok := strings.CutPrefix(path, "servers/"); ok {
			globals = append(globals, tsname.Namespace(folder))
		}
	}
	if near := nearest.Names(missing, append(globals, "callMCPTool", "console", "tools", "ToolError"), 1); len(near) > 0 {
		return within(fmt.Sprintf("did you mean %s?", near[0]), src.Scope)
	}
	return src.Scope
}
