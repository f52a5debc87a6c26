package run

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/internal/gate"
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
	calls = lazyregexp.New(`\.\s*(?:callTool|call_tool)\s*\(|\b(?:mcp|mcpClient|client|session|tools)\s*\.\s*(?:call|callMCPTool|invoke|execute)\s*\(|` +
		`\btools\s*(?:\.\s*\w+)?\.\s*(?:\w+__\w+|\w+\.\w+)\s*\(|\b(?:mcp|codemode|servers|mcpServers|mcpTools)\s*(?:\.\s*\w+|\[[^\]]+\])\s*[.(\[]`)
)

const (
	unwrapsHint = "a call gives the tool's parsed result itself, not { content: [{ text }] }: use r in place of r.content[0].text or r.structuredContent"
	contentHint = "a call gives the tool's structured result itself, not { content: [{ text }] }: where that is { content: string }, r.content is the text, without [0].text"
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

// habits keeps some results of an execution, to say what they were. The zero value is
// ready to use; it is safe for concurrent use.
type habits struct {
	mu      sync.Mutex
	seen    []seenValue
	content bool // a result that was not kept may have content
}

// A seenValue is the last result of a tool.
type seenValue struct {
	tool  string
	value json.RawMessage
}

const (
	// maxSeen bounds the tools with a kept result, and maxSeenBytes each result.
	maxSeen      = 4
	maxSeenBytes = 64 << 10
	// maxGave bounds the description of a result, in characters.
	maxGave = 120
)

// see keeps the result of a call of a tool.
func (h *habits) see(tool string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.seen, func(s seenValue) bool { return s.tool == tool })
	switch {
	case len(value) > maxSeenBytes || i < 0 && len(h.seen) == maxSeen:
		h.content = h.content || bytes.Contains(value, []byte(`"content"`)) || bytes.Contains(value, []byte(`"structuredContent"`))
	case i < 0:
		h.seen = append(h.seen, seenValue{tool, value})
	default:
		h.seen[i].value = value
	}
}

// hints returns hints for code that exited with the given code.
func (h *habits) hints(code string, exit int) (hints []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seen) > 0 && !h.content && unwraps.MatchString(code) && !slices.ContainsFunc(h.seen, func(s seenValue) bool { return hasContent(s.value) }) {
		var gave []string
		for _, s := range h.seen {
			gave = append(gave, s.tool+" gave "+whatItIs(s.value))
		}
		hint := unwrapsHint
		if slices.ContainsFunc(h.seen, func(s seenValue) bool { return textContent.MatchString(string(s.value)) }) {
			hint = contentHint
		}
		hints = append(hints, hint+"; "+strings.Join(gave, ", "))
	}
	if exit == sandbox.ExitThrew && calls.MatchString(code) {
		hints = append(hints, callsHint)
	}
	return hints
}

// textContent matches an object with a text as its content.
var textContent = lazyregexp.New(`^\{\s*"content"\s*:\s*"`)

// hasContent reports whether code may read the content of a value as that of a
// CallToolResult: a list, or what code names in the value.
func hasContent(value json.RawMessage) bool {
	var o struct {
		Content           json.RawMessage `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(value, &o) != nil { // it is no object, or another has the content
		return bytes.Contains(value, []byte(`"content"`)) || bytes.Contains(value, []byte(`"structuredContent"`))
	}
	return len(o.StructuredContent) > 0 || len(o.Content) > 0 && o.Content[0] != '"'
}

// whatItIs says what a result is: a text, a list of texts and images, or the keys of an
// object.
func whatItIs(value json.RawMessage) string {
	var blocks []struct {
		Type string `json:"type"`
	}
	if value[0] == '[' && json.Unmarshal(value, &blocks) == nil && len(blocks) > 0 && len(blocks) <= 20 &&
		!slices.ContainsFunc(blocks, func(b struct {
			Type string `json:"type"`
		}) bool {
			return !slices.Contains([]string{"text", "image", "audio", "resource", "resource_link"}, b.Type)
		}) {
		var kinds []string
		for _, b := range blocks {
			kinds = append(kinds, b.Type)
		}
		return "a list of " + strings.Join(kinds, ", ")
	}
	switch s := shape(value); s {
	case "string":
		return "a text"
	case "number", "boolean":
		return "a " + s
	default:
		return gate.Cut(s, maxGave)
	}
}
