package script

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// globals are the global names of an engine.
const globals = "Array Boolean BigInt Error Function Infinity JSON Map Math NaN Number Object Promise String Symbol ToolError callMCPTool console eval globalThis setTimeout tools"

// checked has a program checked with a check that gives verdict, and returns what
// the check was told; nil if it was not asked.
func checked(p Program, verdict sandbox.Verdict) (*sandbox.Parsed, error) {
	var told *sandbox.Parsed
	p.Modules = testModules
	p.Check = func(_ context.Context, parsed sandbox.Parsed) sandbox.Verdict {
		told = &parsed
		return verdict
	}
	src, err := Read(p)
	if err != nil {
		return nil, err
	}
	tree := src.Plain()
	if tree == nil {
		if tree, err = src.Build(0); err != nil {
			return nil, err
		}
	}
	_, err = tree.Ask(context.Background(), func(name string) bool { return slices.Contains(strings.Fields(globals), name) })
	return told, err
}

// testModules are a server as codegen writes it.
var testModules = []sandbox.Module{
	{
		Path: "servers/github",
		Source: "import { callMCPTool } from './helpers/callMCPTool';\n" +
			"export const listIssues = (input) => callMCPTool('github__list_issues', input);\n" +
			"export const createIssue = (input) => callMCPTool('github__create_issue', input);\n",
		Exports: []string{"listIssues", "createIssue"},
		Global:  "github",
	},
}

// spell writes a literal in a short form of its own: "?" is what is not known.
func spell(l sandbox.Literal) string {
	var parts []string
	switch l.Kind {
	case sandbox.LiteralValue:
		return string(l.Value)
	case sandbox.LiteralText:
		return "text"
	case sandbox.LiteralUndefined:
		return "undefined"
	case sandbox.LiteralArray, sandbox.LiteralObject:
		for _, i := range l.Items {
			parts = append(parts, spell(i))
		}
		for _, f := range l.Fields {
			parts = append(parts, f.Name+": "+spell(f.Value))
		}
		if l.Open {
			parts = append(parts, "…")
		}
		if l.Kind == sandbox.LiteralArray {
			return "[" + strings.Join(parts, ", ") + "]"
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "?"
}

func TestCallSitesAreWhatTheTextSays(t *testing.T) {
	const imports = "import { listIssues, createIssue as make } from './servers/github';\n"
	for _, tt := range []struct {
		name, code string
		want       []string // target input
	}{
		{"an imported function", imports + `await listIssues({ owner: 'o', n: 1 })`, []string{`github__list_issues {owner: "o", n: 1}`}},
		{"under another name", imports + `await make({})`, []string{`github__create_issue {}`}},
		{"a member of the namespace in scope", `await github.listIssues({ a: true })`, []string{`github__list_issues {a: true}`}},
		{"a member of an imported namespace", `import * as gh from './servers/github'; await gh.listIssues({ a: 1 }); gh['createIssue']({})`,
			[]string{`github__list_issues {a: 1}`, `github__create_issue {}`}},
		{"a file of its own", `import make from './servers/github/createIssue'; await make({ a: 1 })`, []string{`github__create_issue {a: 1}`}},
		{"the raw call", `await callMCPTool('github__list_issues', { owner: 'o' })`, []string{`github__list_issues {owner: "o"}`}},
		{"the raw call with two names", "await callMCPTool('github', `list_issues`, { owner: 'o' })", []string{"github\x1flist_issues {owner: \"o\"}"}},
		{"the raw call, imported", `import { callMCPTool as c } from './helpers/callMCPTool'; await c('x__y', {})`, []string{`x__y {}`}},
		{"without arguments", imports + `listIssues(); callMCPTool('a__b')`, []string{`github__list_issues undefined`, `a__b undefined`}},
		{"optional calls", imports + `await listIssues?.({ a: 1 }); github?.listIssues({ b: 1 })`, []string{`github__list_issues {a: 1}`}},
		{"inside of functions and arrows", imports + `const f = async (n: number) => { await Promise.all([1].map(i => listIssues({ i, page: n, per: 2 }))) }; await f(1)`,
			[]string{`github__list_issues {i: ?, page: ?, per: 2}`}},
		{"literals of every kind", `await callMCPTool('a', { s: 'x', t: ` + "`a${1}`" + `, n: -1.5, big: 9007199254740993n, hex: 0x10, z: null, u: undefined, f: () => 1, r: /x/, o: { p: [1, , 'b'] }, e: Infinity })`,
			[]string{`a {s: "x", t: text, n: -1.5, big: 9007199254740993, hex: 16, z: null, u: undefined, f: ?, r: ?, o: {p: [1, null, "b"]}, e: ?}`}},
		{"spread hides what stands before it", imports + `const x = {}; listIssues({ a: 1, ...x, b: 2 }); listIssues({ c: [1, ...[2]] })`,
			[]string{`github__list_issues {a: ?, b: 2, …}`, `github__list_issues {c: […]}`}},
		{"a computed key may be any", imports + `const k = 'q'; listIssues({ a: 1, [k]: 2 })`, []string{`github__list_issues {a: ?, …}`}},
		{"an accessor, a method, a prototype", imports + `listIssues({ get a() { return 1 }, m() {} }); listIssues({ __proto__: null, b: 1 }); listIssues({ toJSON() { return {} } })`,
			[]string{`github__list_issues {m: ?, …}`, `github__list_issues {b: 1}`, `github__list_issues ?`}},
		{"the last of equal keys counts", imports + `listIssues({ a: 1, b: 2, a: 3 } as any)`, []string{`github__list_issues {a: 3, b: 2}`}},
		{"an enum is its value", imports + `enum State { Open = 'OPEN' } listIssues({ state: State.Open } satisfies object)`, []string{`github__list_issues {state: "OPEN"}`}},
		{"a variable is not followed", imports + `const args = { a: 1 }; listIssues(args); listIssues(...[args])`, []string{`github__list_issues ?`, `github__list_issues ?`}},
		{"a shadowed name is another thing", imports + `listIssues({ a: 1 }); function g(listIssues: any) { listIssues({ b: 1 }) }; const h = (callMCPTool: any) => callMCPTool('x', {})`,
			[]string{`github__list_issues {a: 1}`}},
		{"a name of the program's own", `const github = { listIssues(o: any) {} }; github.listIssues({ a: 1 }); const { make } = { make(o: any) {} }; make({})`, nil},
		{"what was taken apart or reassigned", `const { listIssues } = github; await listIssues({ a: 1 }); let f = github.createIssue; f({ b: 1 })`, nil},
		{"a raw call that was replaced", `globalThis.callMCPTool = async () => 1; await callMCPTool('a__b', {})`, nil},
		{"a raw call that was replaced by name", `globalThis['callMCPTool'] = async () => 1; await callMCPTool('a__b', {})`, nil},
		{"a computed target", `const id = 'a__b'; await callMCPTool(id, {}); const [s, u] = ['a', 'b']; await callMCPTool('x', u, {}); await callMCPTool(...[1])`, nil},
		{"a call in a string or a comment is none", `// callMCPTool('a', {})` + "\n" + `console.log("callMCPTool('a', {})")`, nil},
		{"loops, classes, defaults, switch and try", `class A { static x = 1; m(a = callMCPTool('in__default', {})) { for (const i of [1]) { try { switch (i) { case 1: callMCPTool('in__case', {}) } } catch { callMCPTool('in__catch', {}) } finally { if (i) callMCPTool('in__if', {}); else callMCPTool('in__else', {}) } } } }`,
			[]string{`in__default {}`, `in__case {}`, `in__catch {}`, `in__if {}`, `in__else {}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			told, _ := checked(Program{Code: tt.code}, sandbox.Verdict{Problems: []sandbox.Problem{{Message: "stop"}}})
			var got []string
			if told != nil {
				for _, c := range told.Calls {
					got = append(got, c.Target+" "+spell(c.Input))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// Places are those of the agent's text, whatever was done to it before it was
// parsed.
func TestCallSitesAreWhereTheTextHasThem(t *testing.T) {
	const call = "listIssues({ 'ö': 'x', key: value })"
	for _, tt := range []struct {
		name string
		lang sandbox.Language
		code string
	}{
		{"on the first line", sandbox.TypeScript, "await github." + call},
		{"behind an import and wide characters", sandbox.TypeScript, "import * as gh from './servers/github';\nconst value: string = '🙂é'; /* 🙂 */ await gh." + call},
		{"in a fence", sandbox.TypeScript, "```ts\nconst value = 1;\n\tawait github." + call + "\n```"},
		{"in an anonymous function", sandbox.TypeScript, "export default async function () {\n  return await github." + call + "\n}"},
		{"with carriage returns", sandbox.TypeScript, "const value = 1;\r\n\r\nawait github." + call},
		{"in JavaScript", sandbox.JavaScript, "const value = '🙂'; await github." + call},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			told, _ := checked(Program{Language: tt.lang, Code: tt.code}, sandbox.Verdict{Problems: []sandbox.Problem{{}}})
			if told == nil || len(told.Calls) != 1 || len(told.Calls[0].Input.Fields) != 2 {
				t.Fatalf("told %+v, want one call with two fields", told)
			}
			c := told.Calls[0]
			key := c.Input.Fields[1]
			for _, at := range []struct {
				offset int
				want   string
			}{{c.Input.Offset, "{ 'ö'"}, {key.Offset, "key:"}, {key.Value.Offset, "value }"}} {
				if !strings.HasPrefix(tt.code[at.offset:], at.want) {
					t.Errorf("offset %d is %.12q, want %q", at.offset, tt.code[at.offset:], at.want)
				}
			}
		})
	}
}

func TestPlainJavaScriptKeepsItsPlaces(t *testing.T) {
	code := "const s = 'ü🙂';\nawait callMCPTool('a__b', { kéy: 1 })"
	told, _ := checked(Program{Language: sandbox.JavaScript, Code: code}, sandbox.Verdict{Problems: []sandbox.Problem{{}}})
	if told == nil || len(told.Calls) != 1 {
		t.Fatalf("told %+v, want one call", told)
	}
	if at := told.Calls[0].Input.Fields[0].Offset; !strings.HasPrefix(code[at:], "kéy") {
		t.Errorf("offset %d is %.12q, want the key", at, code[at:])
	}
}

func TestNamesThatNothingDeclares(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		want       []string
	}{
		{"called", "await listIssues({}); slack.post({})", []string{"listIssues called", "slack called"}},
		{"used", "return [1].map(listIssues)", []string{"listIssues"}},
		{"asked for first", "if (typeof listIssues === 'function') listIssues({})", []string{"listIssues"}},
		{"declared", "function f() { const listIssues = (x: any) => x; listIssues({}) } f()", nil},
		{"declared only elsewhere", "function f() { const listIssues = (x: any) => x; listIssues({}) } f(); listIssues({})", []string{"listIssues called"}},
		{"assigned to globalThis", "globalThis.helper = () => 1; helper()", nil},
		{"perhaps made through globalThis", "Object.assign(globalThis, { helper() {} }); helper()", []string{"helper"}},
		{"of the language and the runtime", "console.log(Math.max(1), JSON, undefined, globalThis, callMCPTool, setTimeout, fetch, tools, Promise, ToolError)", nil},
		{"no names: members, keys, labels", "const o = { listIssues: 1 }; o.listIssues; a: for (;;) break a", nil},
		{"parameters, patterns, catch", "const f = ({ a, b: [c], ...d }: any, e = a, ...g: any[]) => [a, c, d, e, g]; f({}); try {} catch (h) { h() } for (const i of []) i; class K {} new K()", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			told, _ := checked(Program{Code: tt.code}, sandbox.Verdict{Problems: []sandbox.Problem{{}}})
			var got []string
			if told != nil {
				for _, n := range told.Names {
					got = append(got, n.Name+map[bool]string{true: " called"}[n.Called])
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSourceIsAModuleWithPlacesOfTheAgent(t *testing.T) {
	code := "import { listIssues } from './servers/github';\nconst x: number = 'a';\nreturn x;"
	told, _ := checked(Program{Code: code, CheckSource: true}, sandbox.Verdict{})
	if told == nil || told.Source == "" {
		t.Fatalf("told %+v, want the source", told)
	}
	wrong := sandbox.Problem{InSource: true, Offset: strings.Index(told.Source, "x: number"), Message: "wrong"}
	_, err := checked(Program{Code: code, CheckSource: true}, sandbox.Verdict{Problems: []sandbox.Problem{wrong}})
	if err == nil || !strings.HasPrefix(err.Error(), "agent.ts:2:7: wrong") {
		t.Errorf("error %v, want it in line 2", err)
	}
	if told, _ := checked(Program{Language: sandbox.JavaScript, Code: "callMCPTool('a__b')", CheckSource: true}, sandbox.Verdict{}); told == nil || told.Source != "" {
		t.Errorf("told %+v of a program in JavaScript, want no source", told)
	}
}

// What only a type checker would follow stays within the modules that there are.
func TestTypesNameNoFiles(t *testing.T) {
	for _, tt := range []struct{ name, code, says string }{
		{"a type of a file", "let x: typeof import('/etc/x.json') = 5 as any; x", "agent.ts:1:22: cannot find module"},
		{"a name in escapes", `let x: import('\x2fetc/passwd').X; x`, "cannot find module"},
		{"an import of types", "import type { X } from '/etc/x';\nlet x: X", "agent.ts:1:24: cannot find module"},
		{"types among values", "import { type X } from '../x';\nlet x: X", "cannot find module"},
		{"an export of types", "export type { X } from '../../x';", "cannot find module"},
		{"a directive", "  /// <reference path='/etc/passwd' />\nreturn 1", "agent.ts:1:3: a triple-slash directive"},
		{"a directive behind a comment", "/* */ /// <reference path='/etc/passwd' />\nreturn 1", "agent.ts:1:7: a triple-slash directive"},
		{"a type on a line that ends otherwise", "//\rtype A = typeof import('/etc/os-release')\nreturn 1", "cannot find module"},
		{"a type after a line separator", "//\u2028type A = typeof import('/etc/os-release')\nreturn 1", "cannot find module"},
		{"a type after a paragraph separator", "//\u2029type A = typeof import('/etc/os-release')\nreturn 1", "cannot find module"},
		{"types of a server are fine", "import type { X } from './servers/github';\nlet x: typeof import('./servers/github') | undefined; return 1 // import('x')", ""},
		{"text is text", "return \"import('/etc/passwd')\"", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told, err := checked(Program{Code: tt.code, CheckSource: true}, sandbox.Verdict{})
			if tt.says == "" {
				if err != nil || told == nil {
					t.Errorf("error %v, want it to be checked", err)
				}
				return
			}
			if err == nil || told != nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, told %v; want it refused with %q", err, told, tt.says)
			}
		})
	}
}

// BenchmarkCheck is what it costs to read and survey a program.
func BenchmarkCheck(b *testing.B) {
	var code strings.Builder
	code.WriteString("import { listIssues } from './servers/github';\n")
	for i := range 20 {
		fmt.Fprintf(&code, "const r%d = await listIssues({ owner: 'o', repo: 'r', state: 'OPEN', perPage: %d });\n", i, i)
	}
	for b.Loop() {
		if told, err := checked(Program{Code: code.String()}, sandbox.Verdict{}); err != nil || len(told.Calls) != 20 {
			b.Fatal(err, told)
		}
	}
}

// What is checked before the run has the same places.
func TestSitesByWhatEndsALine(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r", "\u2028", "\u2029"} {
		code := strings.Join([]string{"const a = 1;", "", "callMCPTool('x__y', { n: a })"}, end)
		want := strings.Index(code, "callMCPTool")
		for _, lang := range []sandbox.Language{sandbox.TypeScript, sandbox.JavaScript} {
			src, err := Read(Program{Language: lang, Code: code})
			if err != nil {
				t.Fatal(err)
			}
			if at, ok := src.Lines.Offset(3, 1); !ok || at != want {
				t.Errorf("%s %q: line 3 begins at %d, %v, want %d", lang, end, at, ok, want)
			}
			s, err := checked(Program{Language: lang, Code: code}, sandbox.Verdict{})
			if err != nil || s == nil || len(s.Calls) != 1 || s.Calls[0].Offset != want {
				t.Errorf("%s %q: %v %+v, want one call at %d", lang, end, err, s, want)
			}
		}
	}
}
