package jsrun

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// An error caused by a read of a missing property lists the properties of the answer.
func TestHintsFromTheAnswerAtHand(t *testing.T) {
	const get = `const r = await callMCPTool('echo__echo', { results: [{ id: 1, name: { first: 'Ada' } }], total: 1, content: 'a\nb', page: { next: 2 } });` + "\n"
	for _, tt := range []struct{ code, want string }{
		{"return r.data.items.map(x => x.id)", "data is undefined: the object, in what echo__echo answered, has content, page, results, total"},
		{"return r.result.length", "result is undefined: did you mean results?"},
		{"return r.page.items[0]", "the object, in what echo__echo answered, has next"},
		{"return r.results.map(x => x.title.first)", "title is undefined: the object, in what echo__echo answered, has id, name"},
		{"return r.split('\\n')", "what echo__echo answered is an object and not a text; write .content.split"},
		{"return r.trim().toUpperCase()", "write .content.trim"},
		{"return r.map(x => x.id)", "what echo__echo answered is an object and not a list; write .results.map"},
		{"for (const x of r.items) x()", "items is undefined: the object"},
		{"const [a] = r.rows; return a", "rows is undefined"},
		{"return JSON.parse(r.results)", "this is an object or an array already"},
		{"return JSON.parse([1, 2])", "this is an object or an array already"},
		{"return JSON.parse([])", "this is an object or an array already"},
	} {
		out, _, _ := checked(t, sandbox.TypeScript, get+tt.code, false, sandbox.Verdict{})
		if _, hint, _ := strings.Cut(out.Error, "\nhint: "); out.ExitCode != sandbox.ExitThrew || !strings.Contains(hint, tt.want) {
			t.Errorf("%s: exit %d, %q, want %q", tt.code, out.ExitCode, out.Error, tt.want)
		}
	}
	for _, code := range []string{
		"const o = {}; return o.x.y", "r.zebra;\nconst o = {};\nreturn o.x.y", "throw new TypeError('undefined')", "JSON.parse('{')", "JSON.parse('[1,')",
	} {
		if out, _, _ := checked(t, sandbox.JavaScript, get+code, false, sandbox.Verdict{}); strings.Contains(out.Error, "hint:") {
			t.Errorf("%s: %q", code, out.Error)
		}
	}
	for code, want := range map[string]string{
		"return r.items":                           "the script returned undefined: line 2: items is undefined: the object, in what echo__echo answered, has content, page, results, total",
		"return r.results[0].nam":                  "the script returned undefined: line 2: nam is undefined: did you mean name?",
		"return r.results.find((x) => x.id === 9)": "the script returned undefined",
		"return ['a'][3]":                          "the script returned undefined",
		"return undefined":                         "",
		"return void r.total":                      "",
		"return await store.set('k', 1)":           "",
		"return r.next":                            "the script returned undefined: line 2: next is undefined: there is page: { next }, so write .page.next",
		"return r.results[0].first":                "the script returned undefined: line 2: first is undefined: there is name: { first }, so write .name.first",
		"return r.id":                              "the script returned undefined: line 2: id is undefined: there is results: [{ id }], so write .results[0].id",
		"return r.total":                           "",
		"if (!r.error) return":                     "",
		"return r.items?.length":                   "the script returned undefined",
		"console.log(r.total); return r.items":     "",
		"console.log(r.id)":                        "the script printed undefined: line 2: id is undefined: there is results: [{ id }], so write .results[0].id",
		"for (const x of r.results) console.log(x.nam); console.log(r.x);":                       "the script printed undefined: line 2: nam is undefined: did you mean name?; the script printed undefined: line 2: x is undefined: the object, in what echo__echo answered, has content, page, results, total",
		"const k = r.zebra;\nconsole.log(undefined)":                                             "",
		"r.zebra; console.log('undefined' + 1)":                                                  "",
		"console.log(r.zebra ?? 1, r.x?.y)":                                                      "",
		"const { total } = r; r.seen = total; return":                                            "",
		"Object.defineProperty(r, 'k', { get() { throw 1 }, enumerable: true }); return r.items": "",
	} {
		out, _, _ := checked(t, sandbox.JavaScript, get+code, false, sandbox.Verdict{})
		if got := strings.Join(out.Reads, "; "); got != want || out.ExitCode != 0 {
			t.Errorf("%s: exit %d, reads %q, want %q", code, out.ExitCode, got, want)
		}
	}
}

// Watched objects of an answer without a known shape look ordinary to a program.
func TestGlimpsedObjectsAreOrdinary(t *testing.T) {
	const code = `const r = await callMCPTool('echo__echo', { a: { b: [{ c: 1 }] } });
const keys = []; for (const k in r) keys.push(k);
return [Object.getPrototypeOf(r) === Object.prototype, r.__proto__ === Object.prototype, r instanceof Object, keys.join(), 'x' in r, String(r), r.x === undefined,
  JSON.stringify({ ...r }), structuredClone(r).a.b[0].c, r.a.b[0].hasOwnProperty('c'), typeof r.then, r.constructor === Object]`
	out, _, _ := checked(t, sandbox.JavaScript, code, false, sandbox.Verdict{})
	if want := `[true,true,true,"a",false,"[object Object]",true,"{\"a\":{\"b\":[{\"c\":1}]}}",1,true,"undefined",true]`; string(out.Value) != want {
		t.Errorf("%+v, want %s", out, want)
	}
}
