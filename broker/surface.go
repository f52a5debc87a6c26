package broker

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// The texts that every agent pays for in every turn. They name no counts and
// no times, and servers in sorted order: the same bytes each time, so that
// prompt caches hold. Clients cut a description at 2,048 characters; these stay
// under 1,000.

// namedServers is up to how many servers the description of search_tools
// names: models ignore a search tool that does not say what it searches.
const namedServers = 40

// serverNames is the sorted list of the configured servers for a text.
func (b *Broker) serverNames() string {
	var names []string
	for _, s := range b.options().Servers {
		names = append(names, clipName(s.Name))
	}
	if len(names) == 0 {
		return "none configured yet"
	}
	slices.Sort(names)
	if len(names) > namedServers {
		return strings.Join(names[:namedServers], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}

func clipName(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 30 {
		return string(r[:29]) + "…"
	}
	return s
}

// instructions stand alone in their first 512 characters, which is all that
// some clients read.
func (b *Broker) instructions() string {
	const (
		head  = "One entry for many MCP servers: %s. To use any of them: search_tools with what you need, then "
		code  = "ONE execute_code script that calls the tools found, works on the data there and returns only what you need. "
		calls = "call_tool with the id and the arguments of the tool found. "
		auto  = "Tools that are listed by id can be called directly. "
		skill = "activate_skill first, where one of its skills is for the task. "
		tail  = "list_servers says what is connected."
	)
	text := head + code
	switch b.options().Mode {
	case ModeTools:
		text = head + calls
	case ModeAuto:
		text = head + code + auto
	}
	if len(b.skillsNow().Shown()) > 0 {
		text += skill
	}
	text += tail
	names := b.serverNames()
	if room := 511 - (len([]rune(text)) - len("%s")); len([]rune(names)) > room {
		names = string([]rune(names)[:room-1]) + "…"
	}
	return fmt.Sprintf(text, names)
}

func (b *Broker) searchDescription() string {
	names := b.serverNames()
	if r := []rune(names); len(r) > 480 {
		names = string(r[:479]) + "…"
	}
	use := "ready to call from execute_code: id, types, what it does"
	if b.options().Mode == ModeTools {
		use = "ready for call_tool: id, arguments, what it does"
	}
	return `Find tools by what they do, e.g. {"query": "list open pull requests"}, on these servers: ` + names + `. ` +
		`Look here before you decide that something cannot be done. Hits are best first, ` + use + `; [write] may change something. ` +
		`Search for one step, not a whole task.`
}

const callDescription = "Call a tool that search_tools found, e.g. {\"tool\": \"github__list_issues\", \"arguments\": {\"owner\": \"o\", \"repo\": \"r\"}}. " +
	"The answer is what the tool sends; a long one is cut, so ask for little. A failure says what to do."

const executeDescription = "Run a TypeScript script that calls tools, e.g. `const r = await github.listIssues({ owner, repo }); return r.length`. " +
	"Each server is a camelCase global and a module (`import { listIssues } from './servers/github'`); " +
	"`callMCPTool('github__list_issues', { owner, repo })` calls by id. A call takes one object and gives the parsed result, " +
	"or throws ToolError {server, tool, code, message, hint}. Top-level await and return work; Promise.all runs calls in parallel. " +
	"Do a whole task in one script: loop, filter and join there; only what it returns or prints enters your context. " +
	"Also there: tools.search(query), tools.describe(id), store.get/set (kept), results.get(ref). " +
	"No packages, files or network."

const listDescription = `List the MCP servers with status and tool count, e.g. {"server": "github"} for one with its tool ids. ` +
	`Those that failed or need sign-in say why and what to do.`

const (
	listSchema = `{"type":"object","properties":{"server":{"type":"string","description":"only this server, with its tools"}}}`

	searchSchema = `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"what the tool should do, in a few words, or its name; empty lists all"},` +
		`"server":{"type":"string","description":"only this server"},` +
		`"detail":{"type":"string","enum":["name","desc","full"],"description":"ids only; types and what it does (default); all parameters"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"default 8"}},"required":["query"]}`

	callSchema = `{"type":"object","properties":{` +
		`"tool":{"type":"string","description":"the id"},` +
		`"arguments":{"type":"object","description":"what the tool takes"}},"required":["tool"]}`
)

// executeSchema names only the languages that run here.
func (b *Broker) executeSchema() string {
	o := b.options()
	languages, _ := json.Marshal(o.Languages) // strings: no error
	python := ""
	if slices.Contains(o.Languages, sandbox.Python) {
		python = "; python: `from servers import github`, `await github.list_issues(owner=o)`, `await call_mcp_tool(id, {})`, asyncio.gather"
	}
	isolation := ""
	if len(o.Isolations) > 1 {
		isolations, _ := json.Marshal(o.Isolations) // likewise
		isolation = fmt.Sprintf(`"isolation":{"type":"string","enum":%s,"description":"where it runs"},`, isolations)
	}
	return fmt.Sprintf(`{"type":"object","properties":{`+
		`"code":{"type":"string","description":"the script"},`+
		`"language":{"type":"string","enum":%s,"description":"default %s%s"},%s`+
		`"timeout":{"type":"number","description":"seconds, default %g, at most %g"}},"required":["code"]}`,
		languages, o.Language, python, isolation, o.Timeout.Seconds(), o.MaxTimeout.Seconds())
}

// tools are the tools that the agent sees, without their handlers.
func (b *Broker) tools() []*mcp.Tool {
	no, yes := false, true
	tool := func(name, description, schema string, a *mcp.ToolAnnotations) *mcp.Tool {
		return &mcp.Tool{
			Name: name, Description: description, InputSchema: json.RawMessage(schema), Annotations: a,
			// Clients that defer tools until they are searched for would hide
			// the very tool that searches.
			Meta: mcp.Meta{"anthropic/alwaysLoad": true},
		}
	}
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}
	runs := &mcp.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}
	if b.options().ReadOnly {
		runs = &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, OpenWorldHint: &yes}
	}
	acts := tool("execute_code", executeDescription, b.executeSchema(), runs)
	if b.options().Mode == ModeTools {
		acts = tool("call_tool", callDescription, callSchema, runs)
	}
	own := []*mcp.Tool{
		acts,
		tool("list_servers", listDescription, listSchema, reads),
		tool("search_tools", b.searchDescription(), searchSchema, reads),
	}
	return slices.Concat(own, b.skillTools(tool, reads), b.directTools())
}

// A Surface is all that a client loads of the broker before the first call.
type Surface struct {
	Instructions string      `json:"instructions"`
	Tools        []*mcp.Tool `json:"tools"`
}

// Surface returns what tools/list and initialize cost a client.
func (b *Broker) Surface() Surface { return Surface{b.instructions(), b.tools()} }
