package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

func TestPythonIsRecognised(t *testing.T) {
	for code, want := range map[string]bool{
		"import os\nfor x in range(3):\n    print(x)":             true,
		"def main():\n  return 1":                                 true,
		"from datetime import datetime\nprint(datetime.now())":    true,
		"if x > 1:\n  y()\nelse:\n  z()":                          true,
		"print([n['id'] for n in notes.list()])":                  true,
		`print(f"{x} items")`:                                     true,
		"try:\n  a()\nexcept Exception as e:\n  pass":             true,
		"import { a } from './servers/a'\nreturn await a({})":     false,
		"import a from './a'":                                     false,
		"for (const x of y) { z(x) }":                             false,
		"const o = {\n  if: 1,\n  else:\n    2 }":                 true, // rare, and only a hint
		"switch (x) {\n case 1:\n  f()\n default:\n  g() }":       false,
		"return a ?\n  b :\n  c":                                  false,
		"for await (const x of [1]) console.log(`${x} for y in`)": false,
		"// for each in the list:\nreturn 1":                      false,
	} {
		if got := python.MatchString(code); got != want {
			t.Errorf("%q: %t, want %t", code, got, want)
		}
	}
}

func TestHabitsOfMCPClients(t *testing.T) {
	for code, want := range map[string]int{
		"return (await s.a({})).content[0].text":              1,
		"return r.content?.[0]?.text ?? 'none'":               1,
		"const t = r.content.find((c) => c.type === 'text')":  1,
		"for (const c of r.content) console.log(c.text)":      1,
		"return r.structuredContent.items":                    1,
		`return r["content"][0]["text"]`:                      1,
		"return r.get('content')":                             1,
		"const r = await client.callTool({ name: 'x' })":      1,
		"return await tools.call('s__a')":                     1,
		"return await mcp.call('s', 'a')":                     1,
		"return await codemode.s__a({})":                      1,
		"return await servers.s.a({})":                        1,
		"return await mcp['s'].a({})":                         1,
		"return await tools.s__a({})":                         1,
		"return await tools.s.a({})":                          1,
		"return await tools.search('a')":                      0,
		"return (await tools.describe('a')).name":             0,
		"import { a } from './servers/s'; return await a({})": 0,
		"return r.contents[0]":                                0,
		"const { content } = await s.a({})":                   1,
		"const {content: [{text}]} = await s.a()":             1,
		"let { x, structuredContent } = await s.a()":          1,
		"return r.context.structured":                         0,
		"if (r.isError) throw r; return r.callToolsLater":     0,
		"const { content } = page; return content":            0,
	} {
		var h habits
		h.see("s__a", json.RawMessage(`{"items":[1]}`))
		if got := h.hints(code, sandbox.ExitThrew); len(got) != want {
			t.Errorf("%s: hints %q, want %d", code, got, want)
		}
	}
	const code = "return r.content[0].text"
	var none, has habits
	if got := none.hints(code, sandbox.ExitThrew); len(got) > 0 {
		t.Errorf("without a call: %q", got)
	}
	has.see("s__a", json.RawMessage(`{"items":[1]}`))
	has.see("s__b", json.RawMessage(`{"shot":1,"content":[{"type":"image"}]}`))
	if got := has.hints(code, sandbox.ExitOK); len(got) > 0 {
		t.Errorf("of a value that has content: %q", got)
	}
}

// The hint says what the results were.
func TestHabitsSayWhatResultsWere(t *testing.T) {
	const code = "return r.content[0].text"
	for value, want := range map[string]string{
		`"hi"`: "s__a gave a text",
		`7`:    "s__a gave a number",
		`{"entities":[{"name":"x"}],"relations":[]}`:                          "s__a gave {entities: 1 × {name: string}, relations: []}",
		`[{"type":"text","text":"hi"},{"type":"image","size":1,"ref":"r_1"}]`: "s__a gave a list of text, image",
		`[{"type":"bug","id":1}]`:                                             "s__a gave 1 × {type: string, id: number}",
		`{"content":"hi"}`:                                                    "r.content is the text, without [0].text; s__a gave {content: string}",
		`{"content":[{"type":"text"}]}`:                                       "",
		`{"structuredContent":{}}`:                                            "",
		`[{"content":[1]}]`:                                                   "",
		`{"long":"` + strings.Repeat("x", maxSeenBytes) + `","content":1}`:    "",
	} {
		var h habits
		h.see("s__a", json.RawMessage(value))
		got := strings.Join(h.hints(code, sandbox.ExitThrew), "; ")
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%.60s: hint %q, want %q", value, got, want)
		}
	}
	var h habits
	for i := range 10 {
		h.see(fmt.Sprintf("s__%d", i), json.RawMessage(`"old"`))
		h.see(fmt.Sprintf("s__%d", i), json.RawMessage(`{"`+strings.Repeat("k", 5000)+`":1}`))
	}
	if got := h.hints(code, sandbox.ExitThrew); len(got) != 1 || len(got[0]) > 1000 || strings.Contains(got[0], "a text") {
		t.Errorf("hints %q", got)
	}
}

func BenchmarkHabits(b *testing.B) {
	value := json.RawMessage(`{"items":["` + strings.Repeat("x", 4<<10) + `"]}`)
	var h habits
	for b.Loop() {
		h.see("s__a", value)
	}
}
