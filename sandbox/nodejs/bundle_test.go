package nodejs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/dop251/goja/parser"
	"github.com/go-sourcemap/sourcemap"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

func prepared(t *testing.T, p script.Program) *Bundle {
	t.Helper()
	b, _, err := Bundled(t.Context(), p, func(name string) bool { return name == "Atomics" })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.ParseFile(nil, b.File, b.Code, parser.IgnoreRegExpErrors); err != nil {
		t.Fatalf("%v in\n%s", err, b.Code)
	}
	return b
}

// What the tree of a program gets when it runs here, its text gets when it runs
// elsewhere.
func TestABundleEndsWithAResult(t *testing.T) {
	for _, tt := range []struct {
		name, code, has string
		implicit        bool
	}{
		{"an expression", "const x: number = 1;\nx + 1;", "return x+1", true},
		{"an expression in brackets", "const x = 1; ((x + 1) * 2)", "return (x+1)*2", true},
		{"an object", "({ a: 1 })", "return ({a:1})", true},
		{"a sequence that awaits", "await null, 2", "return await null,2", true},
		{"what is printed last", "console.log(1)", ";console.log(1)}", false},
		{"a return of its own", "if (Math) { return 1 }\n2", "return 1", false},
		{"one function", "async () => { await null; return 7 }", "return (async()=>{await null;return 7})()", false},
		{"one function in brackets", "(function () { return 7 })", "return ((function(){return 7}))()", false},
		{"a declared function", "async function main() { return 7 }", ";return main()", false},
		{"a default export", "export default 7", `typeof $dflt==="function"`, false},
		{"a withheld name", "const r = await fetch('x'); r", `await $broker_absent("fetch")("x")`, true},
		{"a withheld class", "new WebSocket('x')", `new $broker_absent("WebSocket")("x")`, true},
		{"a withheld name that is asked for", "typeof process !== 'undefined' ? process.env : 1", `return "undefined"!=="undefined"?$broker_absent("process").env:1`, true},
		{"a withheld name that is declared", "const fetch = () => 1; fetch()", "return fetch()", true},
		{"what is newer than this engine", "/[\\p{L}--[a-z]]/v.test('x')", "return ", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := prepared(t, script.Program{Code: tt.code})
			if !strings.Contains(b.Code, tt.has) || b.Implicit != tt.implicit {
				t.Errorf("implicit %v, want %v; no %q in\n%s", b.Implicit, tt.implicit, tt.has, b.Code)
			}
		})
	}
}

// Positions behind an edit are those of the agent's text.
func TestABundleKeepsItsPlaces(t *testing.T) {
	b := prepared(t, script.Program{Code: "if (typeof fetch === 'undefined') boom();\nlet a = 1, b = 2;\n(a + boom)"})
	raw, err := json.Marshal(map[string]any{"version": 3, "sources": b.Sources, "mappings": b.Mappings})
	if err != nil {
		t.Fatal(err)
	}
	m, err := sourcemap.Parse("", raw)
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]string{"boom()": "1:35", "boom}": "3:6", "a+boom": "3:2"} {
		line, column := 1, 1
		at := strings.Index(b.Code, what)
		if at < 0 {
			t.Fatalf("no %q in\n%s", what, b.Code)
		}
		for _, c := range b.Code[:at] {
			if column++; c == '\n' {
				line, column = line+1, 1
			}
		}
		moved := 0
		for _, e := range b.Edits {
			if e[0] == line-1 && e[1]+moved+max(e[2], 0) <= column-1 {
				moved += e[2]
			}
		}
		_, _, fromLine, fromColumn, _ := m.Source(line-1, column-moved-1)
		if fromColumn++; fromLine == 1 {
			fromColumn -= b.Before
		}
		if found := fmt.Sprintf("%d:%d", fromLine, fromColumn); found != want {
			t.Errorf("%q at %d:%d of the script is %s, want %s", what, line, column, found, want)
		}
	}
}

func TestABundleSaysWhereNamesAre(t *testing.T) {
	p := script.Program{
		Code:    "Atomics; listIsues(); repos(); $strange",
		Modules: []sandbox.Module{{Path: "servers/github", Source: "export const repos = 1;", Exports: []string{"repos"}, Global: "github"}},
		Check: func(_ context.Context, p sandbox.Parsed) sandbox.Verdict {
			for _, n := range p.Names {
				if n.Name == "Atomics" {
					t.Error("a global of the engine is said to be unknown")
				}
			}
			return sandbox.Verdict{Hints: map[string]string{"listIsues": "did you mean listIssues?"}, Notes: []string{"looked"}}
		},
	}
	b := prepared(t, p)
	if b.Hints["listIsues"] != "did you mean listIssues?" || b.Hints["repos"] != "import { repos } from './servers/github';" || b.Hints["$strange"] != "" {
		t.Errorf("hints %q", b.Hints)
	}
	if b.Withheld["fetch"] == "" {
		t.Errorf("withheld %q", b.Withheld)
	}
}

func TestABundleIsRefused(t *testing.T) {
	for code, says := range map[string]string{
		"const = 1":              "agent.ts:1:7: ",
		"import fs from 'fs'":    "there are no files here",
		"let x; await import(x)": "import() takes the name of a module as it is",
	} {
		_, _, err := Bundled(t.Context(), script.Program{Code: code}, nil)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasSuffix(err.Error(), "0 tools called") {
			t.Errorf("%s: %v, want %q", code, err, says)
		}
	}
}

// A refusal lists all mistakes of a program: failed imports, missing names of modules,
// and those that the check finds.
func TestAllMistakesAtOnce(t *testing.T) {
	modules := []sandbox.Module{{Path: "servers/github", Source: "export const listIssues = (input) => callMCPTool('github__list_issues', input);", Exports: []string{"listIssues"}, Global: "github"}}
	for _, lang := range []sandbox.Language{sandbox.TypeScript, sandbox.JavaScript} {
		for code, want := range map[string][]string{
			"import { x } from './servers/nope';\nimport { y } from './servers/github';\nreturn github.listIssues({}) + x(y)": {":1:19: cannot find module", ":2:10: servers/github has no export \"y\"", ":3:1: checked"},
			"import a from 'left-pad';\nimport b from 'right-pad';\nreturn github.listIssues(a(b))":                           {":1:15: cannot find module", ":2:15: cannot find module", ":3:1: checked"},
			"const z = github.nothing({}); return github.listIssues({})":                                                      {`:1:18: servers/github has no export "nothing"`, ":1:1: checked"},
			"return github.listIssues({})": {":1:1: checked"},
		} {
			check := func(context.Context, sandbox.Parsed) sandbox.Verdict {
				return sandbox.Verdict{Problems: []sandbox.Problem{{Offset: strings.LastIndex(code, "\n") + 1, Message: "checked"}}}
			}
			_, _, err := Bundled(t.Context(), script.Program{Language: lang, Code: code, Modules: modules, Check: check}, func(string) bool { return true })
			for _, w := range want {
				if err == nil || !strings.Contains(err.Error(), w) || strings.Count(err.Error(), "0 tools called") != 1 {
					t.Errorf("%s: %s\n%v\nwant %s", lang, code, err, w)
				}
			}
		}
	}
}
