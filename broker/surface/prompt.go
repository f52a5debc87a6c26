package surface

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// PromptFor is the section for a system prompt in a mode; there is
// one for models that write no code.
func PromptFor(m Mode) string {
	if m == ModeTools {
		return promptTools
	}
	return promptCode
}

// promptTools is promptCode for ModeTools.
const promptTools = `## Tools behind the broker

The MCP server "broker" stands in front of all other MCP servers. Their tools are not in your tool list; find and use them so:

1. search_tools with what one step needs, in a few words ("list open issues"). Hits come with their id and their arguments.
2. call_tool with the id of one, and its arguments as an object.

If a call fails, the answer says why and what to do. Do not repeat calls that write something. [write] marks tools that may.
list_servers says what is connected, and what is wrong with a server that is not.

Example:

    search_tools {"query": "list issues of a repository"}
    call_tool {"tool": "github__list_issues", "arguments": {"owner": "o", "repo": "r", "state": "OPEN"}}
`

// promptCode is a section for a system prompt that explains the broker, for clients
// with models that need it.
const promptCode = `## Tools behind the broker

The MCP server "broker" stands in front of all other MCP servers. Their tools are not in your tool list; find and use them so:

1. search_tools with what one step needs, in a few words ("list open issues"). Hits come with a TypeScript signature.
2. execute_code with one script that does the whole task: it calls the tools, filters and joins what they return, and returns only what you need.

Write code when a task needs more than one call, works through lists, or handles more data than you need to read. For one call with
a small answer, a one-line script does: return await github.getIssue({ owner, repo, number: 7 }).

In a script:
- Each server is a global in camelCase: github.listIssues({ ... }). Or import: import { listIssues } from './servers/github'.
- callMCPTool('github__list_issues', { ... }) calls by id.
- A call takes one object. Its value is parsed already; only a field that is a JSON text, such as the content of a JSON file, needs JSON.parse. An image or a file is { type, mimeType, size, ref }: return it to see it; results.get(ref, { encoding: 'base64' }) gives its bytes.
- A failed call throws ToolError with server, tool, code, message and hint. If a call fails, earlier calls have had their effect: do not repeat writes.
- await and return work at top level; Promise.all runs calls in parallel.
- tools.search(query) and tools.describe(id) find tools from within; store.set(key, value) keeps a value for later scripts, store.get(key) reads it; other windows of this user see and replace it, so name keys after the task.
- No network, files or packages.

Example:

    const issues = await github.listIssues({ owner: 'o', repo: 'r', state: 'OPEN' });
    const old = issues.filter(i => Date.parse(i.updatedAt) < Date.now() - 30 * 864e5);
    await slack.postMessage({ channel: 'dev', text: old.length + ' issues wait for more than 30 days' });
    return old.slice(0, 5).map(i => i.title);
`

// instructions stand alone in their first 512 characters, which is all that
// some clients read.
func instructions(servers []string, tools []Tool) string {
	var text strings.Builder
	text.WriteString("One entry for many MCP servers: %s. To use any of them: search_tools with what you need, then ")
	for _, t := range tools {
		text.WriteString(t.Advice)
	}
	text.WriteString("list_servers says what is connected.")
	names := ServerNames(servers)
	room := 511 - (utf8.RuneCountInString(text.String()) - len("%s"))
	return fmt.Sprintf(text.String(), gate.Cut(names, room))
}

// namedServers is up to how many servers a text names: models ignore a search
// tool that does not say what it searches.
const namedServers = 40

// ServerNames is the sorted list of servers for a text.
func ServerNames(servers []string) string {
	var names []string
	for _, s := range servers {
		names = append(names, gate.Cut(strings.Join(strings.Fields(s), " "), 30))
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
