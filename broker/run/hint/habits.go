// Package hint writes hints for the author of a script, from its code and from what its calls
// returned: habits of other clients, lists that go on, and results that differ from earlier ones.
package hint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Models know MCP clients, so their scripts unwrap results that are already unwrapped, or look for
// a client. These hints say what to write instead.
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
	callsHint   = "there is no client: call a tool as server.tool(input), or as callMCPTool('server__tool', input)"
)

// python matches syntax of Python that is invalid TypeScript: blocks that begin with a
// colon at the end of a line, imports without quotes, comprehensions and f-strings.
var python = lazyregexp.New(`(?m)^[ \t]*(?:(?:async )?def \w+\s*\(.*\)\s*(?:->[^:\n]*)?:|class \w+[^{\n]*:|(?:for \w[\w, ]* in|if|elif|while|with|except)\b[^{?\n]*:|(?:else|try|finally|except):|` +
	`from [\w.]+ import [\w*(][^"'\n]*|import \w[\w.]*(?: as \w+)?(?:, *\w[\w.]*)*)[ \t]*(?:#.*)?$|[\[({][^\n;\x60]* for \w+ in \w[^\n;\x60]*[\])}]|\bprint\(f["']`)

// Python reports whether code seems to be Python.
func Python(code string) bool { return python.MatchString(code) }

// Habits records some results of an execution, for hints that describe them. The zero value is
// ready to use; it is safe for concurrent use.
type Habits struct {
	mu      sync.Mutex
	seen    []seenValue
	content bool // a result that was not recorded may have content
}

// A seenValue is the last result of a tool.
type seenValue struct {
	tool  string
	value json.RawMessage
}

const (
	// maxSeen bounds the recorded tools, and maxSeenBytes each result.
	maxSeen      = 4
	maxSeenBytes = 64 << 10
	// maxGave bounds the description of a result, in characters.
	maxGave = 120
)

// Record records the result of a tool.
func (h *Habits) Record(tool string, value json.RawMessage) {
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

// Hints returns hints for code that ended with res.
func (h *Habits) Hints(code string, res sandbox.Result) (hints []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seen) > 0 && !h.content && unwraps.MatchString(code) {
		if hint := h.unwrapHint(code, res); hint != "" {
			hints = append(hints, hint)
		}
	}
	if res.ExitCode == sandbox.ExitThrew && calls.MatchString(code) {
		hints = append(hints, callsHint)
	}
	return hints
}

// unwrapHint returns a hint for code that looks for the content of a CallToolResult, or
// "" if a result has what the code reads.
func (h *Habits) unwrapHint(code string, res sandbox.Result) string {
	var gave []string
	texts, scalar := 0, false
	for _, s := range h.seen {
		gave = append(gave, s.tool+" gave "+whatItIs(s.value))
		switch {
		case textContent.MatchString(string(s.value)):
			texts++
		case hasContent(s.value), res.Absent == nil && contentKey.Match(s.value):
			return ""
		default:
			scalar = scalar || !strings.ContainsRune(`{["`, rune(s.value[0]))
		}
	}
	what := strings.Join(gave, ", ")
	switch {
	case texts > 0 && misfitsText(code, res.Absent):
		advice := insteadOfUnwrapping(code, h.textsAreJSON())
		if strings.Contains(res.Error+strings.Join(res.Reads, "; "), advice) {
			return "" // another hint says it
		}
		return what + ": " + advice
	case texts > 0:
		return ""
	case res.Absent == nil && res.ExitCode == sandbox.ExitOK && ownContent.MatchString(code):
		return "" // it may read an object of its own
	case res.Absent != nil && !scalar && !slices.ContainsFunc(res.Absent, func(name string) bool { return slices.Contains(wrappers, name) }):
		return ""
	}
	return unwrapsHint + "; " + what
}

var (
	// wrappers are the fields of a CallToolResult.
	wrappers = []string{"content", "structuredContent", "structured_content"}
	// textContent matches an object with a text as its content.
	textContent = lazyregexp.New(`^\{\s*"content"\s*:\s*"`)
	// contentKey matches a key in a value, or in a JSON text in it.
	contentKey = lazyregexp.New(`"(?:content|structuredContent)\\*"\s*:`)
	// ownContent matches an object or a field that the code makes itself.
	ownContent = lazyregexp.New(`\bcontent["']?\s*:|\.content\s*=[^=]`)
	// unwrapsText matches reads of parts of a content that is a string.
	unwrapsText = lazyregexp.New(`\bcontent["'\]]*\s*(?:\?\.)?\[\s*\d+\s*\]\s*(?:[?!]?\.\s*(?:text|type|data|mimeType)\b|\[["']text)|\.content\s*[?!]?\.\s*(?:find|map|filter|forEach|some|flatMap)\b|` +
		`structured_?[cC]ontent\b|\bcontent\s*:\s*\[`)
	firstText  = lazyregexp.New(`(JSON\.parse\(\s*)?(?:([\w$.]*[\w$])|\))[?!]?\.content\s*(?:\?\.)?\[\s*\d+\s*\]\s*[?!]?\.\s*text\b`)
	structured = lazyregexp.New(`([\w$]+|\))[?!]?\.structured_?[cC]ontent\b`)
	eachText   = lazyregexp.New(`([\w$]+|\))\.content\s*[?!]?\.\s*(find|map|filter|forEach|some|flatMap)\b`)
)

// misfitsText reports whether code reads a string as a list of parts; absent are the reads that
// were noticed, or nil.
func misfitsText(code string, absent []string) bool {
	if absent == nil {
		return unwrapsText.MatchString(code)
	}
	return slices.ContainsFunc(absent, func(name string) bool {
		return strings.HasPrefix(name, "string.") || name == "structuredContent" || name == "structured_content"
	}) && unwrapsText.MatchString(code)
}

// textsAreJSON reports whether the content of each result that is { content: string } is
// JSON; h.mu is held.
func (h *Habits) textsAreJSON() bool {
	for _, s := range h.seen {
		var o struct{ Content string }
		if textContent.Match(s.value) && (json.Unmarshal(s.value, &o) != nil || !json.Valid([]byte(o.Content))) {
			return false
		}
	}
	return true
}

// insteadOfUnwrapping returns what to write for a result { content: string }, where the text may
// be JSON.
func insteadOfUnwrapping(code string, isJSON bool) string {
	if m := firstText.FindStringSubmatch(code); m != nil {
		r := gate.Cut(cmp.Or(m[2], "r"), maxGave)
		if m[1] != "" {
			return "write JSON.parse(" + r + ".content)"
		}
		return "write " + r + ".content in place of " + r + ".content[0].text"
	}
	if m := eachText.FindStringSubmatch(code); m != nil {
		r := cmp.Or(strings.TrimPrefix(m[1], ")"), "r")
		if isJSON {
			return r + ".content is a text: write JSON.parse(" + r + ".content)." + m[2]
		}
		return r + ".content is a text: write " + r + `.content.split("\n").` + m[2]
	}
	if m := structured.FindStringSubmatch(code); m != nil {
		r := cmp.Or(strings.TrimPrefix(m[1], ")"), "r")
		return "write " + r + ".content in place of " + r + ".structuredContent"
	}
	return "the field content is the text itself, without [0].text"
}

// hasContent reports whether code may read a value as a CallToolResult: its content is a list, or
// has a field that code names.
func hasContent(value json.RawMessage) bool {
	var o struct {
		Content           json.RawMessage `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(value, &o) != nil { // not an object, or its content is nested
		return bytes.Contains(value, []byte(`"content"`)) || bytes.Contains(value, []byte(`"structuredContent"`))
	}
	return len(o.StructuredContent) > 0 || len(o.Content) > 0
}

// whatItIs describes a result: a text, a list of texts and images, or the keys of an object.
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
	switch s := Shape(value); s {
	case "string":
		return "a text"
	case "number", "boolean":
		return "a " + s
	default:
		return gate.Cut(s, maxGave)
	}
}
