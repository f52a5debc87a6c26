package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A Host is the program that the model runs in, as far as a workflow needs to
// know it.
type Host struct {
	// Name is one of Hosts, or what a client calls itself. Other programs are
	// taken as "generic", which has no tools.
	Name string
	// Tools are tools that the host has beside those that are known of it.
	Tools []string
	// Subagent means that Tools are all that the model has.
	Subagent bool
	// HasTool reports whether actions can call a tool; nil means that there are
	// none.
	HasTool func(id string) bool
}

// hosts are the tools with which hosts do what prompts ask for, by element, as
// their sources and documentation name them in autumn 2026.
var hosts = map[string]map[string]string{
	"claude-code": {tagAskUser: "AskUserQuestion", tagSurvey: "AskUserQuestion", tagConfirm: "AskUserQuestion", tagPlan: "EnterPlanMode", tagChecklist: "TaskCreate", tagSubagent: "Agent"},
	"codex":       {tagAskUser: "request_user_input", tagSurvey: "request_user_input", tagConfirm: "request_user_input", tagChecklist: "update_plan", tagSubagent: "spawn_agent"},
	"gemini-cli":  {tagAskUser: "ask_user", tagSurvey: "ask_user", tagConfirm: "ask_user", tagPlan: "enter_plan_mode", tagChecklist: "write_todos", tagSubagent: "invoke_agent"},
	"opencode":    {tagAskUser: "question", tagSurvey: "question", tagConfirm: "question", tagChecklist: "todowrite", tagSubagent: "task"},
	"cline":       {tagAskUser: "ask_followup_question", tagSurvey: "ask_followup_question", tagConfirm: "ask_followup_question", tagSubagent: "use_subagents"},
	"roo-code":    {tagAskUser: "ask_followup_question", tagSurvey: "ask_followup_question", tagConfirm: "ask_followup_question", tagChecklist: "update_todo_list", tagSubagent: "new_task"},
	"kilo-code":   {tagAskUser: "ask_followup_question", tagSurvey: "ask_followup_question", tagConfirm: "ask_followup_question", tagChecklist: "update_todo_list", tagSubagent: "new_task"},
	"cursor":      {tagAskUser: "AskQuestion", tagSurvey: "AskQuestion", tagConfirm: "AskQuestion", tagChecklist: "TodoWrite", tagSubagent: "Task"},
	"amp":         {tagSubagent: "Task"},
	"generic":     {},
}

// Hosts are the names of the hosts that are known, sorted.
func Hosts() []string { return slices.Sorted(maps.Keys(hosts)) }

// HostNamed returns the known host that a client's name means, such as codex for
// "codex-mcp-client"; "generic" if it means none.
func HostNamed(client string) string {
	name := strings.NewReplacer(" ", "-", "_", "-", "/", "-").Replace(strings.ToLower(strings.TrimSpace(client)))
	for known := range hosts {
		if name == known || name == strings.ReplaceAll(known, "-", "") || strings.HasPrefix(name, known+"-") {
			return known
		}
	}
	return "generic"
}

// tool returns the tool with which the host does what an element asks for, or "".
func (h Host) tool(tag string) string {
	own := hosts[HostNamed(h.Name)][tag]
	if own != "" && (!h.Subagent || slices.Contains(h.Tools, own)) {
		return own
	}
	for _, name := range Hosts() { // tools that are named may be those of another host
		if t := hosts[name][tag]; t != "" && slices.Contains(h.Tools, t) {
			return t
		}
	}
	return ""
}

// has reports whether a tool exists, of the host or for actions.
func (h Host) has(tool string) bool {
	if tool == "" {
		return false
	}
	own := slices.Collect(maps.Values(hosts[HostNamed(h.Name)]))
	return slices.Contains(h.Tools, tool) || !h.Subagent && slices.Contains(own, tool) || h.HasTool != nil && h.HasTool(tool)
}

// preamble is what a model reads before the first prompt of an area: what the
// author says, and what the elements mean that can occur from there on.
func (w *Workflow) preamble(a *area, h Host) string {
	used := map[string]bool{}
	for _, n := range w.steps {
		switch {
		case n.area != a && a.name != "":
		case n.PromptFunc != nil:
			for _, tag := range elementTags() {
				used[tag] = true
			}
		default:
			for i := range n.Prompt {
				for _, tag := range n.Prompt[i].tags() {
					used[tag] = true
				}
			}
		}
	}
	text := ""
	for _, m := range meanings {
		if !used[m.tag] {
			continue
		}
		how := m.without
		if tool := h.tool(m.tag); tool != "" {
			how = fmt.Sprintf(m.with, tool)
		}
		text += "\n<" + m.tag + ">: " + how
	}
	if text != "" {
		text = "Prompts may hold these elements; follow them in their order." + text
	}
	return strings.TrimSpace(a.def.Preamble + "\n\n" + text)
}

// hostTools are names of tools that only some hosts have, except plain words. A
// prompt for every host names none of them.
var hostTools = sync.OnceValue(func() []string {
	names := []string{"ExitPlanMode", "TaskUpdate", "exit_plan_mode", "plan_mode_respond", "attempt_completion", "todo_write"}
	for _, tools := range hosts {
		for _, t := range tools {
			if !slices.Contains([]string{"question", "task", "Task", "Agent"}, t) {
				names = append(names, t)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
})
