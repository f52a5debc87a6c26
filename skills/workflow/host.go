package workflow

import (
	"slices"
	"strings"
	"unicode"
)

// A Host is the program that the model runs in, as far as a workflow needs to
// know it.
type Host struct {
	// Name is one of Hosts, or what a client calls itself; what is not known has
	// no tools of its own.
	Name string
	// Tools are tools that the host has, beside those that are known of it.
	Tools []string
	// Subagent means that Tools are all that there are.
	Subagent bool
	// HasTool reports whether there is a tool that actions can call; nil means
	// that there is none.
	HasTool func(id string) bool
}

// hosts are the tools with which hosts do what prompts ask for, by element. They
// are those of the hosts' own documentation, as of spring 2026.
var hosts = map[string]map[string]string{
	"claude-code": {tagAskUser: "AskUserQuestion", tagSurvey: "AskUserQuestion", tagConfirm: "AskUserQuestion", tagPlan: "EnterPlanMode", tagChecklist: "TaskCreate", tagSubagent: "Agent"},
	"codex":       {tagAskUser: "request_user_input", tagSurvey: "request_user_input", tagConfirm: "request_user_input", tagChecklist: "update_plan", tagSubagent: "spawn_agent"},
	"opencode":    {tagAskUser: "question", tagSurvey: "question", tagConfirm: "question", tagPlan: "plan", tagChecklist: "todo", tagSubagent: "task"},
	"gemini-cli":  {tagAskUser: "ask-user", tagSurvey: "ask-user", tagConfirm: "ask-user", tagPlan: "enter-plan-mode", tagChecklist: "write-todos", tagSubagent: "agent"},
	"cline":       {tagAskUser: "ask_followup_question", tagSurvey: "ask_followup_question", tagConfirm: "ask_followup_question", tagPlan: "PLAN_MODE", tagChecklist: "update_todo_list", tagSubagent: "USE_SUBAGENTS"},
	"roo-code":    {tagAskUser: "ask_followup_question", tagSurvey: "ask_followup_question", tagConfirm: "ask_followup_question", tagChecklist: "update_todo_list", tagSubagent: "new_task"},
	"kilo-code":   {tagAskUser: "ask_followup_question", tagSurvey: "ask_followup_question", tagConfirm: "ask_followup_question", tagChecklist: "update_todo_list", tagSubagent: "new_task"},
	"cursor":      {},
	"amp":         {},
	"generic":     {},
}

// Hosts are the names of those that are known.
func Hosts() []string {
	var names []string
	for name := range hosts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// HostNamed is the known host that a client's name means, such as codex for
// "codex-mcp-client"; "generic" if it means none.
func HostNamed(client string) string {
	name := letters(client)
	found := "generic"
	for _, known := range Hosts() {
		// The longest wins, should one be the beginning of another.
		if key := letters(known); strings.HasPrefix(name, key) && (found == "generic" || len(known) > len(found)) {
			found = known
		}
	}
	return found
}

// letters are those of a name, in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// tool is what the host does an element with, or nothing.
func (h Host) tool(tag string) string {
	known := hosts[HostNamed(h.Name)][tag]
	if !h.Subagent && known != "" || slices.Contains(h.Tools, known) {
		return known
	}
	// Tools that were named may be those of another host.
	for _, name := range Hosts() {
		if t := hosts[name][tag]; t != "" && slices.Contains(h.Tools, t) {
			return t
		}
	}
	return ""
}

// has reports whether there is a tool, of the host or for actions.
func (h Host) has(tool string) bool {
	if slices.Contains(h.Tools, tool) || h.HasTool != nil && h.HasTool(tool) {
		return true
	}
	for _, t := range hosts[HostNamed(h.Name)] {
		if t == tool && !h.Subagent {
			return true
		}
	}
	return false
}

// hostTools are the names of tools of hosts that are no words of English, which
// a prompt that is to be understood everywhere does not name.
func hostTools() []string {
	var names []string
	for _, tools := range hosts {
		for _, t := range tools {
			if t != tagAskUser && strings.ContainsAny(t, "_-") || strings.ToLower(t[1:]) != t[1:] {
				names = append(names, t)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// tags are the elements that can occur in prompts, in the order of the table,
// each with what to do by means of a tool and without one.
var tags = []struct{ tag, with, without string }{
	{tagSystem, "", "How to behave. Follow it, do not repeat it."},
	{tagPrompt, "", "The work to do."},
	{tagAskUser, `Put a structured question with its options to the user with this tool; ask an open one in plain text.`,
		`Ask the user; show the options as a numbered list and take only one of their values.`},
	{tagSurvey, `Put all questions to the user with this tool, at once if it takes several; give the answers by their keys.`,
		`Ask the questions one after the other; give the answers by their keys.`},
	{tagConfirm, `Ask yes or no with this tool; default says what counts when the answer is unclear. Warn if destructive.`,
		`Ask yes or no; default says what counts when the answer is unclear. Warn if destructive.`},
	{tagPlan, `Present summary and steps with this tool and wait for approval.`, `Present it as a numbered list, and ask whether to go on.`},
	{tagChecklist, `Enter the items with this tool and mark each when it is done.`, `Keep a visible list and mark each item when it is done.`},
	{tagSubagent, `Give the work to an agent with this tool and return its answer; it must not use the skill named by no-recurse.`,
		`Do the work by itself, then go on with its result; do not use the skill named by no-recurse for it.`},
	{tagRendered, "", "Finished text for the user: show it as it is, not a letter changed."},
}

// preamble is what a model is told before the first prompt of an area: how to
// behave, what the author says, and, if a session begins there, what the
// elements mean that can occur.
func (w *Workflow) preamble(a *area, h Host, begins bool) string {
	var parts []string
	if a.def.System != "" {
		parts = append(parts, "<"+tagSystem+">"+a.def.System+"</"+tagSystem+">")
	}
	if a.def.Preamble != "" {
		parts = append(parts, a.def.Preamble)
	}
	if begins {
		if t := table(w.elements(a), h); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "\n\n")
}

// elements are those that can occur from an area on, as far as no function
// makes them.
func (w *Workflow) elements(a *area) map[string]bool {
	used := map[string]bool{}
	for _, n := range w.steps {
		if n.area == a || a.subskill == nil {
			n.Prompt.mark(used)
		}
	}
	return used
}

// mark notes the elements of a prompt.
func (p Prompt) mark(used map[string]bool) {
	for i := range p {
		if !p.plain() {
			used[p[i].tag()] = true
		}
	}
}

// table says what elements mean.
func table(used map[string]bool, h Host) string {
	var table strings.Builder
	for _, t := range tags {
		if !used[t.tag] {
			continue
		}
		tool, how := "-", t.without
		if found := h.tool(t.tag); found != "" && t.with != "" {
			tool, how = found, t.with
		}
		table.WriteString("\n| <" + t.tag + "> | " + tool + " | " + how + " |")
	}
	if table.Len() == 0 {
		return ""
	}
	return "Prompts are made of these elements; follow them in their order.\n| element | tool | what to do |\n|---|---|---|" + table.String()
}
