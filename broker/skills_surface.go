package broker

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/skills"
)

// maxEnum is up to how many skills the schema of activate_skill names each.
const maxEnum = 64

// Of these texts every word is paid for in every turn, beside those of the
// other tools: what is in the skills is told when one is activated.
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
	return compactJSON(map[string]any{
		"type": "object",
		"properties": map[string]any{
			"name":      name,
			"arguments": map[string]any{"type": "string"},
			"force":     map[string]any{"type": "boolean"}, // give the text again
		},
		"required": []string{"name"},
	})
}

// skillTools are the tools for skills, as far as there is a skill for them.
func (b *Broker) skillTools(tool func(name, description, schema string, a *mcp.ToolAnnotations) *mcp.Tool, reads *mcp.ToolAnnotations) []*mcp.Tool {
	s := b.skillsNow()
	shown := s.Shown()
	all := append(shown, s.Prompts()...) // a user may pick what no model may
	if len(all) == 0 {
		return nil
	}
	no, yes := false, true
	tools := []*mcp.Tool{
		tool("read_skill_file", readSkillDescription, readSkillSchema, reads),
		tool("call_skill_tool", callSkillDescription, callSkillSchema, &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}),
	}
	if len(shown) > 0 {
		// It changes nothing but what the broker remembers of the conversation.
		activates := &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, OpenWorldHint: &no}
		tools = append(tools, tool("activate_skill", activateDescription+skillCatalogue(s, b.options().SkillBudget), string(activateSchema(shown)), activates))
	}
	return tools
}
