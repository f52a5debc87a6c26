package skill

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/script"
)

const (
	// maxScriptsListed bounds the scripts shown when a skill is activated, and
	// maxScriptsFound those in a search hit.
	maxScriptsListed = 50
	maxScriptsFound  = 5
)

// scriptSchema is what scripts take; see scriptInput.
const scriptSchema = `{"type":"object","properties":{"args":{"type":"array","items":{"type":"string"}},"stdin":{"type":"string"}}}`

// ToolsOf are the tools of a skill that call_skill_tool calls: those that are
// defined in Go, those of its workflow, and its scripts, if any run.
func (s Scripts) ToolsOf(k *skills.Skill) []skills.Tool {
	list := k.AllTools()
	if !s.on() || notRun(k) != nil {
		return list
	}
	if doc, err := k.Doc(); err == nil {
		for _, one := range s.runnable(k, doc.Body) {
			list = append(list, skills.Tool{Name: one.Path, Description: one.About, InputSchema: json.RawMessage(scriptSchema)})
		}
	}
	return list
}

// ToolsOf are the tools of a skill that call_skill_tool calls now.
func (f *Feature) ToolsOf(k *skills.Skill) []skills.Tool { return f.opts.Load().Scripts.ToolsOf(k) }

// runnable returns the runnable scripts of a skill that its users are shown. text is its
// SKILL.md.
func (s Scripts) runnable(k *skills.Skill, text string) []*script.Script {
	if !s.on() || notRun(k) != nil {
		return nil
	}
	files, _, err := k.Files()
	if err != nil {
		return nil
	}
	open, done, err := k.Open()
	if err != nil {
		return nil
	}
	defer done()
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return slices.DeleteFunc(script.List(open, paths, text), func(one *script.Script) bool {
		return s.Programs != nil && one.Program != nil && !slices.Contains(s.Programs, one.Program[0])
	})
}

// An advice is a Feature that says how what is in a skill is used.
type advice struct{ f *Feature }

// skillUse says to one who has activated a skill how what is in it is used.
func (a advice) skillUse(k *skills.Skill) string {
	return workflowUse(k) + a.f.scriptUse(k) + a.f.filesUse(k)
}

// scriptUse says to one who has activated a skill how its scripts are run; empty
// if there are none, or none are run.
func (a advice) scriptUse(k *skills.Skill) string {
	if notRun(k) != nil {
		return ""
	}
	doc, err := k.Doc()
	if err != nil {
		return ""
	}
	list := a.f.opts.Load().Scripts.runnable(k, doc.Body)
	if len(list) == 0 {
		return ""
	}
	var use strings.Builder
	use.WriteString("\nScripts of this skill; call_skill_tool runs them with input {\"args\": [\"…\"], \"stdin\": \"…\"}")
	switch o := a.f.opts.Load(); o.Scripts.Mode {
	case ScriptsSandbox:
		use.WriteString(", with its files in " + o.folderOf(k))
	case ScriptsHost:
		use.WriteString(", on the user's computer")
		if at := o.Scripts.Approvals; at == nil || !isApproved(at, k) {
			use.WriteString(" once the user allows it: broker skills approve " + k.ID())
		}
	}
	use.WriteString(":\n")
	for i, s := range list {
		if i == maxScriptsListed {
			fmt.Fprintf(&use, "and %d others\n", len(list)-i)
			break
		}
		use.WriteString("- " + s.Path)
		if s.About != "" {
			use.WriteString(": " + s.About)
		}
		use.WriteByte('\n')
	}
	return strings.TrimSuffix(use.String(), "\n")
}

// isApproved reports whether somebody has approved a skill, as it was once.
func isApproved(at approvals.Text, k *skills.Skill) bool {
	given, err := approvals.In(at).Get(approvals.Script, k.ID())
	return err == nil && given.Digest != ""
}

// scriptsFound names the scripts of a skill to one who finds it.
func (a advice) scriptsFound(k *skills.Skill) string {
	list := a.f.opts.Load().Scripts.runnable(k, "")
	var names []string
	for _, s := range list[:min(len(list), maxScriptsFound)] {
		names = append(names, s.Path)
	}
	if len(list) > maxScriptsFound {
		names = append(names, fmt.Sprintf("%d more", len(list)-maxScriptsFound))
	}
	if len(names) == 0 {
		return ""
	}
	return "; call_skill_tool: " + strings.Join(names, ", ")
}
