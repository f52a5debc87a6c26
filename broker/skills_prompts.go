package broker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/skills"
)

// kindSkill is the kind of search hits that are skills.
const kindSkill = "skill"

// kindSkillTool is the kind of those that are tools of skills defined in Go.
const kindSkillTool = "skill_tool"

// enterSkills makes the skills hits of search_tools.
func (b *Broker) enterSkills() {
	var list []entry
	for _, k := range b.skillsNow().Shown() {
		origin := k.Origin()
		if k.Server != "" {
			origin = "" // the hit names it
		}
		list = append(list, entry{
			Entry:  index.Entry{ID: k.Ref, Kind: kindSkill, Server: k.Server, Name: k.Ref, Description: k.Description},
			origin: origin, use: "activate_skill " + string(compactJSON(map[string]string{"name": k.Ref})) + b.scriptsFound(k),
			more: func() string { return skillContents(k) },
		})
		for _, t := range k.Tools {
			id := k.Ref + "/" + t.Name
			list = append(list, entry{
				Entry: index.Entry{ID: id, Kind: kindSkillTool, Name: id, Description: t.Description},
				use:   "call_skill_tool " + string(compactJSON(map[string]string{"skill": k.Ref, "tool": t.Name})) + withInput(t.InputSchema),
			})
		}
	}
	b.entries.set("skills", list)
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

// A shownPrompt is a prompt with what it says for the arguments of a user.
type shownPrompt struct {
	*mcp.Prompt
	text func(ctx context.Context, client string, r reader, arguments string) (string, error)
}

// argumentsKey is the one argument that prompts take.
const argumentsKey = "arguments"

func newPrompt(name, description, hint string) *mcp.Prompt {
	if hint == "" {
		hint = "what to put in for $ARGUMENTS"
	}
	return &mcp.Prompt{
		Name: name, Description: gate.Cut(gate.Clean(description), maxListedChars),
		Arguments: []*mcp.PromptArgument{{Name: argumentsKey, Description: gate.Cut(gate.Clean(hint), maxListedTitle)}},
	}
}

// promptBroker is the name of the prompt that tells how to work with the broker.
const promptBroker = "use-broker"

const aboutBrokerDescription = "How to find and use the tools behind the broker."

// prompts are what users may pick, by name: commands of plugins, skills, which
// win, and beside any of them the long text about the broker itself.
func (b *Broker) prompts() map[string]shownPrompt {
	list := make(map[string]shownPrompt)
	for _, c := range b.options().Commands {
		list[c.Name] = shownPrompt{newPrompt(c.Name, c.Description, c.ArgumentHint), func(_ context.Context, _ string, _ reader, arguments string) (string, error) {
			return c.Text(arguments)
		}}
	}
	for _, k := range b.skillsNow().Prompts() {
		list[k.Ref] = shownPrompt{newPrompt(k.Ref, k.Description, k.ArgumentHint), func(ctx context.Context, client string, r reader, arguments string) (string, error) {
			b.RefreshSkills()
			now, err := b.skillsNow().Find(k.Ref)
			if err != nil {
				return "", skillFailure(err)
			}
			if now.State != skills.Enabled || !now.UserInvocable {
				return "", fmt.Errorf("skill %s is not there for users any more", now.Ref)
			}
			text, err := b.activateNoted(ctx, client, r, now, arguments, true, "by a user")
			return text, skillFailure(err)
		}}
	}
	if _, taken := list[promptBroker]; len(list) > 0 && !taken {
		list[promptBroker] = shownPrompt{&mcp.Prompt{Name: promptBroker, Description: aboutBrokerDescription},
			func(context.Context, string, reader, string) (string, error) { return PromptFor(b.options().Mode), nil }}
	}
	return list
}

// showPrompts makes f have the prompts of list; b.facesMu is held.
func (f *face) showPrompts(list map[string]shownPrompt) {
	next := make(map[string]*mcp.Prompt, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		p := list[name]
		next[name] = p.Prompt
		if old := f.prompts[name]; old != nil && string(compactJSON(old)) == string(compactJSON(p.Prompt)) {
			continue
		}
		f.server.AddPrompt(p.Prompt, f.prompt)
	}
	if gone := missing(f.prompts, next); len(gone) > 0 {
		f.server.RemovePrompts(gone...)
	}
	f.prompts = next
}

// prompter answers prompts/get for a client with the prompts as they are now.
func (b *Broker) prompter(client string) mcp.PromptHandler {
	return func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		p, ok := b.prompts()[req.Params.Name]
		if !ok {
			return nil, fmt.Errorf("prompt %q is gone", clip(req.Params.Name, 60))
		}
		text, err := p.text(ctx, client, readerOf(req.Extra, req.Session), req.Params.Arguments[argumentsKey])
		if err != nil {
			return nil, err
		}
		return promptResult(gate.NewText(p.Description), gate.NewText(text).Cut(maxSkillChars+maxUseChars+1000)), nil
	}
}
