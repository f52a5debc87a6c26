package jsrun

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// answered runs a program whose calls get that answer; those of echo__text get a text.
func answered(t *testing.T, code, answer string) Outcome {
	t.Helper()
	h := &memHost{answer: func(c sandbox.Call) (json.RawMessage, error) {
		if c.Target == "echo__text" {
			return json.RawMessage(`"text"`), nil
		}
		return json.RawMessage(answer), nil
	}}
	check := func(context.Context, sandbox.Parsed) sandbox.Verdict { return sandbox.Verdict{} }
	return Run(t.Context(), Program{Language: sandbox.TypeScript, Code: code, Check: check}, h)
}

// An error says that an answer is a text or a list if a property of something else was
// read of it.
func TestHintsSayWhatTheAnswerIs(t *testing.T) {
	for _, tt := range []struct{ answer, code, want string }{
		{`"a\nb"`, "return r.content[0].text", "content is undefined: what echo__echo answered is a text, without fields: use it as it is"},
		{`"a\nb"`, "return r.contents[0].text", "contents is undefined: what echo__echo answered is a text"},
		{`"a\nb"`, "return r.map((l) => l)", `r is a text: write r.split("\n").map`},
		{`"a\nb"`, "for (const x of r.items) x()", "items is undefined: what echo__echo answered is a text"},
		{`[{"type":"text","text":"hi"},{"type":"image","mimeType":"image/png","size":1,"ref":"r_x"}]`, "return r.content[0].text",
			"content is undefined: what echo__echo answered is a list of text, image: take a part, as in r.find((p) => p.type === 'text')"},
		{`[{"id":1,"name":"x"},{"id":2}]`, "return r.items.map((x) => x)", "items is undefined: what echo__echo answered is a list of 2, each with id, name: take one, as in r[0], or all with r.map"},
		{`[1,2]`, "return r.data.length", "data is undefined: what echo__echo answered is a list of 2: take one"},
		{`{"content":"a\nb"}`, "return r.map((l) => l)", "write .content.split('\\n').map"},
		{`{"content":"[1,2]"}`, "return r.filter(Boolean)", "write JSON.parse(r.content).filter"},
		{`{"content":"a\nb"}`, "return r.content.filter(Boolean)", `r.content is a text: write r.content.split("\n").filter`},
		{`{"content":"[{\"name\":1}]"}`, "return r.content.map((e) => e.name)", "r.content is a text: write JSON.parse(r.content).map"},
		{`{"content":"[1]"}`, "const { content } = r; return content.filter(Boolean)", "content is a text: write JSON.parse(content).filter"},
		{`"[1,2]"`, "return r.map(String)", "r is a text: write JSON.parse(r).map"},
		{`{"content":"{\"people\":[1]}"}`, "return r.content.people.map(String)", "r.content is a text: write JSON.parse(r.content).people"},
		{`{"content":"{\"people\":[1]}"}`, "return (await callMCPTool('echo__echo', {})).content.people.length", "a text that is JSON: parse it first, as in JSON.parse(text).people"},
		{`{"content":"a","rows":[1]}`, "for (const x of r) x()", "r is { content: string, rows: list of 1 }, an object and not a list; its lists: r.rows"},
		{`{"content":"a"}`, "return [...r]", `r is { content: string }, an object and not a list: write r.content.split("\n")`},
		{`{"content":"a"}`, "const [a] = r; return a", `r is { content: string }, an object and not a list: write r.content.split("\n")`},
		{`{"content":"a\nb"}`, "for (const x of await callMCPTool('echo__echo', {})) x()", `is an object and not a list: write .content.split("\n")`},
		{`{"content":"a\nb"}`, "const lines = r.content; return lines.forEach((l) => l)", `lines is a text: write lines.split("\n").forEach`},
		{`{"content":"a\nb"}`, "return [r.content, r.content].map((c) => c.map(String))", `c is a text: write c.split("\n").map`},
		{`{"content":"a\nb"}`, "return r.content.map(String).concat(r.content.map(String))", `it is read of a text: make a list of it first, as in .split("\n").map`},
		{`{"content":"[FILE] a\n[FILE] b"}`, "return r.map((l) => l)", "write .content.split('\\n').map"},
		{`{"content":"[FILE] a\n[FILE] b"}`, "return JSON.parse(r)", "r is { content: string }: r.content is the text"},
		{`{"content":"{1}"}`, "return r.filter(Boolean)", "write .content.split('\\n').filter"},
		{`{"content":"[1]"}`, "return JSON.parse(r)", "r is { content: string }: write JSON.parse(r.content)"},
		{`{"content":"[1]"}`, "return JSON.parse(await callMCPTool('echo__echo', {}))", "this is { content: string }: write JSON.parse((await callMCPTool(…)).content)"},
		{`{"n":1,"body":"{}"}`, "const page = r; return JSON.parse(page)", "page is { n: number, body: string }: write JSON.parse(page.body)"},
		{`{"content":"hi"}`, "return JSON.parse(r)", "r is { content: string }: r.content is the text"},
		{`{"ok":true}`, "return JSON.parse(r)", "this is an object or an array already"},
		{`{"content":"[1]"}`, "return JSON.parse(r.content[0].text)", "r.content is a text: write r.content in place of r.content[0].text"},
		{`{"content":"[1]"}`, "const c = r.content; return c?.[0]?.text.length", "c is a text: write c in place of c[0].text"},
		{`{"content":"[1]"}`, "const [first] = r.content; return first.text.length", "text is undefined: it is read of a text"},
		{`{"content":"[1]"}`, "return (await callMCPTool('echo__echo', {})).content[0].text.length", "text is undefined: it is read of a text"},
		{`"hi"`, "return r[0].text.trim()", "r is a text: write r in place of r[0].text"},
		{`[]`, "return r.split('x')", "split is undefined: what echo__echo answered is an empty list"},
	} {
		out := answered(t, "const r = await callMCPTool('echo__echo', {});\n"+tt.code, tt.answer)
		if _, hint, _ := strings.Cut(out.Error, "\nhint: "); out.ExitCode != sandbox.ExitThrew || !strings.Contains(hint, tt.want) {
			t.Errorf("%s of %s: exit %d, %q, want %q", tt.code, tt.answer, out.ExitCode, out.Error, tt.want)
		}
	}
	out := answered(t, "const r = await callMCPTool('echo__echo', {});\nreturn r.text", `"hi"`)
	if want := "the script returned undefined: line 2: text is undefined: what echo__echo answered is a text"; len(out.Reads) != 1 || !strings.HasPrefix(out.Reads[0], want) {
		t.Errorf("reads %q, want %q", out.Reads, want)
	}
	for code, want := range map[string]string{
		"const r = callMCPTool('echo__echo', {});\nreturn r.content.length":                   "hint: r is a promise: await is missing before callMCPTool in line 1",
		"const r = callMCPTool('echo__echo', {});\nreturn r.map((x) => x)":                    "hint: r is a promise: await is missing before callMCPTool in line 1",
		"for (const x of callMCPTool('echo__echo', {}).rows) x()":                             "hint: this is a promise: await is missing before callMCPTool",
		"const f = async () => 1; const p = f(); callMCPTool('echo__echo', {}); return p.x.y": "hint: p is a promise: await is missing, as in (await x)",
		"const r = callMCPTool('echo__echo', {}); for (const x of r) x()":                     "hint: r is a promise: await is missing before callMCPTool",
		"const r = callMCPTool('echo__echo', {}); return [...r]":                              "hint: r is a promise: await is missing before callMCPTool",
		"const r = callMCPTool('echo__echo', {});\nreturn JSON.parse(r)":                      "hint: r is a promise: await is missing before callMCPTool in line 1",
	} {
		if out := answered(t, code, `{"content":"a"}`); !strings.Contains(out.Error, want) {
			t.Errorf("%s: %s, want %q", code, out.Error, want)
		}
	}
	for code, want := range map[string]string{
		"return r.map((x) => x.url)":             "the script returned a list of nothing: line 2: url is undefined: did you mean uri?",
		"return r.map((x) => ({ u: x.url }))":    "the script returned a list of nothing: line 2: url is undefined: did you mean uri?",
		"return r.map((x) => x.uri)":             "",
		"return r.map((x) => x.url ?? null)":     "",
		"return r.map((x) => x.url).concat([1])": "",
		"return [null]":                          "",
	} {
		if out := answered(t, "const r = await callMCPTool('echo__echo', {});\n"+code, `[{"uri":"a"},{"uri":"b"}]`); strings.Join(out.Reads, "; ") != want {
			t.Errorf("%s: value %s, reads %q, want %q", code, out.Value, out.Reads, want)
		}
	}
	for _, code := range []string{"const o = {}; return o.x.y", "return 'other'.content[0]", "r.content;\nreturn [].x.y"} {
		if out := answered(t, "const r = await callMCPTool('echo__echo', {});\n"+code, `"hi"`); strings.Contains(out.Error, "hint:") {
			t.Errorf("%s: %q", code, out.Error)
		}
	}
}

// A note says where await is missing if nothing fails.
func TestMissingAwaitIsNoted(t *testing.T) {
	for code, want := range map[string]string{
		"const r = callMCPTool('echo__echo', {});\nreturn r.content":                                                           "line 2: r is a promise: await is missing before callMCPTool in line 1",
		"const r = callMCPTool('echo__echo', {}); return { a: r.content }":                                                     "line 1: r is a promise: await is missing before callMCPTool",
		"const read = (q) => callMCPTool('echo__echo', q);\nconst all = read({});\nreturn `${all.content} lines`":              "line 3: all is a promise: await is missing before callMCPTool in line 1",
		"let n = 0;\n[1, 2].forEach(async (q) => { n += (await callMCPTool('echo__echo', { q })).content.length });\nreturn n": "line 2: forEach does not await its async function",
		"return [1, 2].filter(async (q) => (await callMCPTool('echo__echo', { q })).content).length":                           "line 1: filter does not await its async function",
		"return [1, 2].some(async (q) => (await callMCPTool('echo__echo', { q })).none)":                                       "line 1: some does not await its async function",
		"const all = []; [1].map(async (q) => all.push(await callMCPTool('echo__echo', { q }))); return all":                   "line 1: the promises of map are not awaited",
		"const r = await callMCPTool('echo__echo', {}); return r.content":                                                      "",
		"const r = callMCPTool('echo__echo', {}); const done = r.then((x) => x.content); return await done":                    "",
		"const all = await Promise.all([1, 2].map(async (q) => callMCPTool('echo__echo', { q }))); return all.length":          "",
		"const r = callMCPTool('echo__echo', {}); if (r.content) return 1; return (await r).content":                           "",
	} {
		out := answered(t, code, `{"content":"a"}`)
		if got := strings.Join(append(out.Reads, out.Notes...), "; "); !strings.Contains(got, want) || (got == "") != (want == "") || out.ExitCode != 0 {
			t.Errorf("%s: exit %d %s, notes %q, want %q", code, out.ExitCode, out.Error, got, want)
		}
	}
}

// Reads that unwrap a result are reported if they found nothing.
func TestAbsentReads(t *testing.T) {
	for _, tt := range []struct{ answer, code, want string }{
		{`{"content":"a\nb"}`, "return r.content.length", ""},
		{`{"content":"a\nb"}`, "const { content } = r; return content", ""},
		{`{"content":"a\nb"}`, "let n = 0; for (const c of r.content) n++; return n", ""},
		{`{"content":"a\nb"}`, "if (r.total) return r.content[0].text; return 1", ""},
		{`{"content":"a\nb"}`, "return r.content[0].text", "string.text"},
		{`{"content":"a\nb"}`, "return JSON.parse(r.content[0].text)", "string.text"},
		{`{"content":"a\nb"}`, "return r.content.map((c) => c.text)", "string.map"},
		{`{"content":"a\nb"}`, "const { content: [{ text }] } = r; return text", "string.text"},
		{`{"items":[1]}`, "return r.content?.[0]?.text ?? r.structuredContent", "content structuredContent"},
		{`{"items":[{"content":"a"}]}`, "return r.items.map((i) => i.content.length)", ""},
		{`"hi"`, "return r.content[0].text", "content"},
		{`[{"type":"text","text":"hi"}]`, "return r.content ?? r[0].text", "content"},
		{`{"items":[1]}`, "const p = callMCPTool('echo__echo', {}); p.content; await p; return 1", ""},
	} {
		out := answered(t, "const r = await callMCPTool('echo__echo', {});\n"+tt.code, tt.answer)
		if got := strings.Join(out.Absent, " "); got != tt.want || out.Absent == nil {
			t.Errorf("%s of %s: absent %q, want %q", tt.code, tt.answer, out.Absent, tt.want)
		}
	}
	if out := Run(t.Context(), Program{Language: sandbox.JavaScript, Code: "return 1"}, &memHost{}); out.Absent != nil {
		t.Errorf("without a call: %q", out.Absent)
	}
}

// Texts and lists that answer calls are ordinary.
func TestWatchedTextsAndListsAreOrdinary(t *testing.T) {
	const code = `const r = await callMCPTool('echo__echo', {});
const keys = []; for (const k in r) keys.push(k);
const s = 'abc';
return [Array.isArray(r), r instanceof Array, r.constructor === Array, Object.getPrototypeOf(r) === Array.prototype, r.__proto__ === Array.prototype, keys.join(), r[7] === undefined,
  [...r].length, r.map((x) => x).concat(r).length, JSON.stringify(r), String(r), 'content' in r, Object.getPrototypeOf(String.prototype) === Object.prototype,
  s.content === undefined, s.hasOwnProperty('length'), new String('x') instanceof Object, structuredClone(r).length, r.slice(1) instanceof Array, (await r) === r, r.length = 1]`
	out := answered(t, "await callMCPTool('echo__text', {});\n"+code, `[1,"x"]`)
	if want := `[true,true,true,true,true,"0,1",true,2,4,"[1,\"x\"]","1,x",false,true,true,true,true,2,true,true,1]`; string(out.Value) != want {
		t.Errorf("%+v, want %s", out, want)
	}
}

// What a text and a list cost to deliver.
func BenchmarkWatchWhole(b *testing.B) {
	for name, answer := range map[string]json.RawMessage{"text": json.RawMessage(`"hello"`), "list": json.RawMessage(`[1,2,3]`)} {
		b.Run(name, func(b *testing.B) {
			r := newRuntime()
			if err := r.setUp(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				v, err := fromJSON(r.vm, string(answer))
				if err != nil {
					b.Fatal(err)
				}
				r.watchWhole(v, "echo__echo", len(answer))
			}
		})
	}
}
