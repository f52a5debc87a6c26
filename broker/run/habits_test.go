package run

import (
	"encoding/json"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

func TestHabitsOfMCPClients(t *testing.T) {
	for code, want := range map[string]int{
		"return (await s.a({})).content[0].text":             1,
		"return r.content?.[0]?.text ?? 'none'":              1,
		"const t = r.content.find((c) => c.type === 'text')": 1,
		"for (const c of r.content) console.log(c.text)":     1,
		"return r.structuredContent.items":                   1,
		`return r["content"][0]["text"]`:                     1,
		"return r.get('content')":                            1,
		"const r = await client.callTool({ name: 'x' })":     1,
		"return await tools.call('s__a')":                    1,
		"return await mcp.call('s', 'a')":                    1,
		"return r.contents[0]":                               0,
		"const { content } = await s.a({})":                  1,
		"const {content: [{text}]} = await s.a()":            1,
		"let { x, structuredContent } = await s.a()":         1,
		"return r.context.structured":                        0,
		"if (r.isError) throw r; return r.callToolsLater":    0,
		"const { content } = page; return content":           0,
	} {
		var h habits
		h.see(json.RawMessage(`{"items":[1]}`))
		if got := h.hints(code, sandbox.ExitThrew); len(got) != want {
			t.Errorf("%s: hints %q, want %d", code, got, want)
		}
	}
	const code = "return r.content[0].text"
	var none, has habits
	if got := none.hints(code, sandbox.ExitThrew); len(got) > 0 {
		t.Errorf("without a call: %q", got)
	}
	has.see(json.RawMessage(`{"items":[1]}`))
	has.see(json.RawMessage(`{"shot":1,"content":[{"type":"image"}]}`))
	if got := has.hints(code, sandbox.ExitOK); len(got) > 0 {
		t.Errorf("of a value that has content: %q", got)
	}
}
