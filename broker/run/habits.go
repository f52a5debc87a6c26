package run

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Models know MCP clients, so their scripts unwrap a result that is already unwrapped,
// or look for a client. These hints say what to write instead.
var (
	// unwraps matches reads of the content of a CallToolResult.
	unwraps = lazyregexp.New(`\.content\s*(?:\?\.\s*)?\[|\.content\s*(?:\?|!)?\.\s*(?:find|map|filter|at|forEach|some|flatMap|length)\b|\.(?:structuredContent|structured_content)\b|` +
		`\[\s*["'](?:content|structuredContent)["']\s*\]\s*[\[.]|\bof\s+\w+\.content\b|\bin\s+\w+\.content\b|\.get\(\s*["']content["']|` +
		`\{\s*(?:\w+\s*,\s*)*(?:content|structuredContent)\b[^=;]{0,60}\}\s*=\s*await\b`)
	// calls matches calls through a client.
	calls = lazyregexp.New(`\.\s*(?:callTool|call_tool)\s*\(|\b(?:mcp|mcpClient|client|session|tools)\s*\.\s*(?:call|callMCPTool|invoke|execute)\s*\(`)
)

const (
	unwrapsHint = "a call returns the tool's parsed result, not { content: [{ text }] }: use r instead of r.content[0].text or r.structuredContent"
	callsHint   = "there is no client: call a tool as server.tool(input), or as callMCPTool('server__tool', input)"
)

// python matches syntax of Python that is invalid TypeScript: blocks that begin with a
// colon at the end of a line, imports without quotes, comprehensions and f-strings.
var python = lazyregexp.New(`(?m)^[ \t]*(?:(?:async )?def \w+\s*\(.*\)\s*(?:->[^:\n]*)?:|class \w+[^{\n]*:|(?:for \w[\w, ]* in|if|elif|while|with|except)\b[^{?\n]*:|(?:else|try|finally|except):|` +
	`from [\w.]+ import [\w*(][^"'\n]*|import \w[\w.]*(?: as \w+)?(?:, *\w[\w.]*)*)[ \t]*(?:#.*)?$|[\[({][^\n;\x60]* for \w+ in \w[^\n;\x60]*[\])}]|\bprint\(f["']`)

// pythonHint returns a hint for a script in Python that was run as another language.
func (x *Execution) pythonHint(exit int) []string {
	if exit != sandbox.ExitRefused && exit != sandbox.ExitThrew || slices.Contains([]string{"python", "py"}, strings.ToLower(x.Request.Language)) || !python.MatchString(x.Request.Code) {
		return nil
	}
	if x.o.Language == sandbox.Python && x.Request.Language == "" {
		return nil
	}
	switch {
	case !slices.Contains(x.o.Languages, sandbox.Python) || x.o.UnavailableLanguages[sandbox.Python] != "":
		return []string{"this looks like Python, which does not run here: write it in TypeScript"}
	case x.Request.Shell:
		return []string{"this looks like Python: broker exec --language python"}
	}
	return []string{`this looks like Python: send it with "language": "python", or write it in TypeScript`}
}

// habits records what the results of an execution contained. The zero value is ready to
// use; it is safe for concurrent use.
type habits struct {
	values, content atomic.Bool
}

// see records the value of a call.
func (h *habits) see(value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	h.values.Store(true)
	if !h.content.Load() && (bytes.Contains(value, []byte(`"content"`)) || bytes.Contains(value, []byte(`"structuredContent"`))) {
		h.content.Store(true)
	}
}

// hints returns hints for code that exited with the given code.
func (h *habits) hints(code string, exit int) (hints []string) {
	if h.values.Load() && !h.content.Load() && unwraps.MatchString(code) {
		hints = append(hints, unwrapsHint)
	}
	if exit == sandbox.ExitThrew && calls.MatchString(code) {
		hints = append(hints, callsHint)
	}
	return hints
}
