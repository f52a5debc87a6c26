package hint

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
		var h Habits
		h.Record("s__a", json.RawMessage(`{"items":[1]}`))
		if got := h.Hints(code, sandbox.Result{ExitCode: sandbox.ExitThrew}); len(got) != want {
			t.Errorf("%s: hints %q, want %d", code, got, want)
		}
	}
	const code = "return r.content[0].text"
	var none, has Habits
	if got := none.Hints(code, sandbox.Result{ExitCode: sandbox.ExitThrew}); len(got) > 0 {
		t.Errorf("without a call: %q", got)
	}
	has.Record("s__a", json.RawMessage(`{"items":[1]}`))
	has.Record("s__b", json.RawMessage(`{"shot":1,"content":[{"type":"image"}]}`))
	if got := has.Hints(code, sandbox.Result{ExitCode: sandbox.ExitOK}); len(got) > 0 {
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
		`{"content":"hi"}`:                                                    "s__a gave {content: string}: write r.content in place of r.content[0].text",
		`{"content":[{"type":"text"}]}`:                                       "",
		`{"structuredContent":{}}`:                                            "",
		`[{"content":[1]}]`:                                                   "",
		`{"long":"` + strings.Repeat("x", maxSeenBytes) + `","content":1}`:    "",
	} {
		var h Habits
		h.Record("s__a", json.RawMessage(value))
		got := strings.Join(h.Hints(code, sandbox.Result{ExitCode: sandbox.ExitThrew}), "; ")
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%.60s: hint %q, want %q", value, got, want)
		}
	}
	var h Habits
	for i := range 10 {
		h.Record(fmt.Sprintf("s__%d", i), json.RawMessage(`"old"`))
		h.Record(fmt.Sprintf("s__%d", i), json.RawMessage(`{"`+strings.Repeat("k", 5000)+`":1}`))
	}
	if got := h.Hints(code, sandbox.Result{ExitCode: sandbox.ExitThrew}); len(got) != 1 || len(got[0]) > 1000 || strings.Contains(got[0], "a text") {
		t.Errorf("hints %q", got)
	}
}

// A script that reads existing fields of results gets no hint.
func TestNoHintForWhatResultsHave(t *testing.T) {
	const text, items, nested = `{"content":"a\nb"}`, `{"items":[1]}`, `{"messages":[{"content":[{"text":"x"}]}]}`
	for _, tt := range []struct {
		value, code string
		absent      []string // nil for a runner that does not notice reads
		exit        int
		want        string
	}{
		{text, "return (await s.a({})).content.length", []string{}, 0, ""},
		{text, "return (await s.a({})).content.length", nil, 0, ""},
		{text, "const { content } = await s.a({}); return content", []string{}, 0, ""},
		{text, "const { content } = await s.a({}); return content", nil, 0, ""},
		{text, "let n = 0; for (const c of r.content) n++; return n", nil, 0, ""},
		{text, "return r.content.at(-1) + r.content[0]", nil, 0, ""},
		{text, "return r['content'].length", nil, 0, ""},
		{text, "return r.get('content')", nil, 0, ""},
		{text, "if (r.isError) throw r.content[0].text; return r.content", []string{}, 0, ""},
		{items, "if (r.isError) throw r.content[0].text; return r.items", []string{}, 0, ""},
		{items, "const page = { content: ['a'] }; return page.content.map(String)", nil, 0, ""},
		{items, "page.content = [r]; return page.content.length", nil, 0, ""},
		{nested, "return r.messages[0].content[0].text", nil, 0, ""},
		{nested, "return r.messages[0].content.map((c) => c.text)", []string{}, 0, ""},
		{`{"text":"{\"content\":[1]}"}`, "return JSON.parse(r.text).content[0]", nil, 0, ""},
		{text, "return JSON.parse(page.content[0].text)", []string{"string.text"}, sandbox.ExitThrew, "s__a gave {content: string}: write JSON.parse(page.content)"},
		{text, "return (await s.a({})).content[0].text", []string{"string.text"}, 0, "write r.content in place of r.content[0].text"},
		{text, "return r.content?.[0]?.text", nil, 0, "write r.content in place of r.content[0].text"},
		{text, "return r.content.filter(Boolean)", []string{"string.filter"}, sandbox.ExitThrew, `r.content is a text: write r.content.split("\n").filter`},
		{`{"content":"[1, 2]"}`, "return r.content.filter(Boolean)", []string{"string.filter"}, sandbox.ExitThrew, `r.content is a text: write JSON.parse(r.content).filter`},
		{text, "return r.structuredContent", []string{"structuredContent"}, 0, "write r.content in place of r.structuredContent"},
		{items, "return r.content?.[0]?.text ?? 'none'", []string{"content"}, 0, "a call gives the tool's parsed result itself"},
		{items, "return r.content[0].text", nil, sandbox.ExitThrew, "a call gives the tool's parsed result itself"},
		{nested, "return r.content[0].text", []string{"content"}, sandbox.ExitThrew, "a call gives the tool's parsed result itself"},
	} {
		var h Habits
		h.Record("s__a", json.RawMessage(tt.value))
		got := strings.Join(h.Hints(tt.code, sandbox.Result{ExitCode: tt.exit, Absent: tt.absent}), "; ")
		if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s of %s, absent %q: hint %q, want %q", tt.code, tt.value, tt.absent, got, tt.want)
		}
	}
}

func BenchmarkHabits(b *testing.B) {
	value := json.RawMessage(`{"items":["` + strings.Repeat("x", 4<<10) + `"]}`)
	var h Habits
	for b.Loop() {
		h.Record("s__a", value)
	}
}
