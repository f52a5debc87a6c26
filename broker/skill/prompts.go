package skill

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker/find"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/skills"
)

// updateHits makes the skills hits of search_tools.
func (f *Feature) updateHits() {
	var list []find.Entry
	for _, k := range f.now().Shown() {
		origin := k.Origin()
		if k.Server != "" {
			origin = "" // the hit names it
		}
		list = append(list, find.Entry{
			Entry:  index.Entry{ID: k.Ref, Kind: find.KindSkill, Server: k.Server, Name: k.Ref, Description: k.Description},
			Origin: origin, Use: "activate_skill " + string(gate.Compact(map[string]string{"name": k.Ref})) + f.scriptsFound(k),
			More: func() string { return skillContents(k) },
		})
		for _, t := range k.Tools {
			id := k.Ref + "/" + t.Name
			list = append(list, find.Entry{
				Entry: index.Entry{ID: id, Kind: find.KindSkillTool, Name: id, Description: t.Description},
				Use:   "call_skill_tool " + string(gate.Compact(map[string]string{"skill": k.Ref, "tool": t.Name})) + withInput(t.InputSchema),
			})
		}
	}
	f.hits.Set("skills", list)
}

// maxContents is how many files of a skill a search names.
const maxContents = 20

// skillContents names the tools and files of a skill, which a model would see
// when it activates it.
func skillContents(k *skills.Skill) string {
	if notRun(k) != nil {
		return "" // its server would have to be asked
	}
	var text string
	names := toolNames(k.AllTools())
	if len(names) > 0 {
		text += "\nTools: " + strings.Join(names, ", ")
	}
	files, _, err := k.Files()
	if err != nil || len(files) <= 1 { // itself
		return text
	}
	names = nil
	for _, f := range files[:min(len(files), maxContents)] {
		names = append(names, f.Path)
	}
	text += "\nFiles: " + strings.Join(names, ", ")
	if more := len(files) - maxContents; more > 0 {
		text += fmt.Sprintf(" and %d others", more)
	}
	return text
}

// argumentsKey is the one argument that prompts take.
const argumentsKey = "arguments"

func newPrompt(name, description, hint string) *mcp.Prompt {
	if hint == "" {
		hint = "what to put in for $ARGUMENTS"
	}
	return &mcp.Prompt{
		Name: name, Description: gate.Cut(gate.Clean(description), surface.MaxDescription),
		Arguments: []*mcp.PromptArgument{{Name: argumentsKey, Description: gate.Cut(gate.Clean(hint), surface.MaxTitle)}},
	}
}

// promptBroker is the name of the prompt that tells how to work with the broker.
const promptBroker = "use-broker"

const aboutBrokerDescription = "How to find and use the tools behind the broker."

// users are a Feature as its users use it.
type users struct{ f *Feature }

// Prompts implements surface.PromptFeature: commands of plugins, skills, which win
// over these, and beside any of them the long text about the broker itself.
func (u users) Prompts() []surface.Prompt {
	byName := make(map[string]surface.Prompt)
	add := func(p *mcp.Prompt, text func(ctx context.Context, c surface.Caller, arguments string) (string, error)) {
		byName[p.Name] = surface.Prompt{Prompt: p, Text: func(ctx context.Context, c surface.Caller, arguments map[string]string) (gate.Text, error) {
			said, err := text(ctx, c, arguments[argumentsKey])
			return gate.NewText(said).Cut(maxSkillChars + maxUseChars + 1000), err
		}}
	}
	for _, c := range u.f.opts.Load().Commands {
		add(newPrompt(c.Name, c.Description, c.ArgumentHint), func(_ context.Context, _ surface.Caller, arguments string) (string, error) {
			return c.Text(arguments)
		})
	}
	for _, k := range u.f.now().Prompts() {
		add(newPrompt(k.Ref, k.Description, k.ArgumentHint), func(ctx context.Context, c surface.Caller, arguments string) (string, error) {
			u.f.Refresh()
			now, err := u.f.now().Find(k.Ref)
			if err != nil {
				return "", skillFailure(err)
			}
			if now.State != skills.Enabled || !now.UserInvocable {
				return "", fmt.Errorf("skill %s is no longer available to users", now.Ref)
			}
			text, err := u.f.activateNoted(ctx, c.Client, readerOf(c), now, arguments, true, "by a user")
			return text, skillFailure(err)
		})
	}
	if _, taken := byName[promptBroker]; len(byName) > 0 && !taken {
		add(&mcp.Prompt{Name: promptBroker, Description: aboutBrokerDescription}, func(context.Context, surface.Caller, string) (string, error) {
			return find.PromptFor(u.f.opts.Load().Mode, u.f.catalog.Scope()), nil
		})
	}
	var list []surface.Prompt
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, byName[name])
	}
	return list
}

// maxEnum is up to how many skills the schema of activate_skill names each.
const maxEnum = 64

// These texts are part of every turn, like those of other tools, so they are short:
// activating a skill gives the rest.
const (
	activateDescription  = "Load a skill before the task that it is for, and follow it:\n"
	readSkillDescription = "Read a file that a skill names, in pages."
	callSkillDescription = "Call a tool that a skill names."

	readSkillSchema = `{"type":"object","properties":{"skill":{"type":"string"},"path":{"type":"string"},` +
		`"offset":{"type":"integer"},"limit":{"type":"integer"}},"required":["skill","path"]}`
	callSkillSchema = `{"type":"object","properties":{"skill":{"type":"string"},"tool":{"type":"string"},` +
		`"input":{"type":"object"}},"required":["skill","tool"]}`
)

// skillCatalogue is what Snapshot.Catalogue says, with a line for each skill
// where that has an element: tags would cost a fifth more, or, with short
// descriptions, as much again.
func skillCatalogue(s *skills.Snapshot, budget int) string {
	var b strings.Builder
	for _, k := range s.Shown() {
		from := ": "
		if k.Scope == skills.ScopeServer {
			from = " [server]: " // not the user's own words
		}
		b.WriteString("- " + strings.Join(strings.Fields(k.Ref+from+k.Description), " ") + "\n")
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if budget == 0 {
		budget = skills.DefaultBudget
	}
	if skills.Tokens(text) <= budget {
		return text
	}
	return s.Catalogue(budget)
}

// activateSchema names the skills if they are few: a model cannot misspell then.
func activateSchema(shown []*skills.Skill) []byte {
	name := map[string]any{"type": "string"}
	if len(shown) <= maxEnum {
		var names []string
		for _, k := range shown {
			names = append(names, k.Ref)
		}
		name["enum"] = names
	}
	return gate.Compact(map[string]any{
		"type": "object",
		"properties": map[string]any{
			"name":      name,
			"arguments": map[string]any{"type": "string"},
			"force":     map[string]any{"type": "boolean"}, // give the text again
		},
		"required": []string{"name"},
	})
}

// Tools implements surface.Feature: there are some while there is a skill for them.
func (m models) Tools() []surface.Tool {
	s := m.f.now()
	shown := s.Shown()
	all := append(shown, s.Prompts()...) // a user may pick what no model may
	if len(all) == 0 {
		return nil
	}
	no, yes := false, true
	runs := &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}
	tools := []surface.Tool{
		{Tool: surface.Define("read_skill_file", readSkillDescription, readSkillSchema, surface.Reads()), Handler: m.f.handleReadSkill},
		{Tool: surface.Define("call_skill_tool", callSkillDescription, callSkillSchema, runs), Handler: m.f.handleSkillCall},
	}
	if len(shown) > 0 {
		// It changes nothing but what the broker remembers of the conversation.
		activates := &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, OpenWorldHint: &no}
		tools = append(tools, surface.Tool{
			Tool:    surface.Define("activate_skill", activateDescription+skillCatalogue(s, m.f.opts.Load().Budget), string(activateSchema(shown)), activates),
			Handler: m.f.handleActivate, Advice: "activate_skill first, where one of its skills is for the task. ",
		})
	}
	return tools
}
