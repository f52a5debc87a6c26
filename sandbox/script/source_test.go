package script

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// tokens are the texts of a program's tokens, with a bar between.
func tokens(src string) string {
	s := Scan(src)
	texts := make([]string, len(s.List))
	for i := range s.List {
		texts[i] = s.Text(i)
	}
	return strings.Join(texts, "|")
}

func TestScan(t *testing.T) {
	for src, want := range map[string]string{
		"a // b\n/* c */ d":              "a|d",
		"#!/usr/bin/env node\nx":         "x",
		"'a\\'b' + \"c\"":                "'a\\'b'|+|\"c\"",
		"`a` + `b${c + `d${e}`}f`":       "`a`|+|`b${|c|+|`d${|e|}`|}f`",
		"a / b / c":                      "a|/|b|/|c",
		"x = /[/]\\/'/g.test(y)":         "x|=|/[/]\\/'/g|.|test|(|y|)",
		"if (a) /'/.test(b)":             "if|(|a|)|/'/|.|test|(|b|)",
		"f(a) / 'b' / c":                 "f|(|a|)|/|'b'|/|c",
		"return /a/":                     "return|/a/",
		"a.return / b / c":               "a|.|return|/|b|/|c",
		"a! / b":                         "a|!|/|b",
		"!/a/.test(b)":                   "!|/a/|.|test|(|b|)",
		"1.5e-3 + 0x1F-1 + .5":           "1.5e-3|+|0x1F|-|1|+|.5",
		"a?.b ?? c ? .5 : [...d] => e++": "a|?.|b|?|?|c|?|.5|:|[|...|d|]|=>|e|++",
		"é + 'ü'":                        "é|+|'ü'",
		"'unterminated\nnext":            "'unterminated|next",
		"`unterminated ${":               "`unterminated ${",
	} {
		if got := tokens(src); got != want {
			t.Errorf("Scan(%q) = %s, want %s", src, got, want)
		}
	}
}

func TestImportsInStringsAndCommentsStay(t *testing.T) {
	code := "const a = `\nimport x from 'y'\n${'import z'}`;\n/*\nimport b from 'c'\n*/\n// import d from 'e'\nreturn a.import + ({ import: 1 }).import"
	src, err := Read(Program{Code: code})
	if err != nil || src.body != code || len(src.movedImports) > 0 || src.bundle {
		t.Errorf("Read changed %q to %q (%v)", code, src.body, err)
	}
}

// Whatever the program is, preparation does not panic, and what it blanks
// keeps every line and every byte in its place.
func FuzzReadSource(f *testing.F) {
	for _, seed := range []string{
		"import { a } from './servers/github'\nexport default async function () {}", "```ts\nexport const x = 1\n```",
		"import x = require('y'); export { x as default } from 'z' with { type: 'json' };", "`${`${/[`]/}`}`", "function(){};;", "export", "import",
		"export default", "import * as a from", "export {", "\ufeffimport 'a'", "import(x)", "async function*(", "export default class extends A {}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, code string) {
		src, err := Read(Program{Language: sandbox.JavaScript, Code: code, Modules: testModules})
		if err != nil {
			return
		}
		if len(src.body) != len(code) {
			t.Fatalf("Read(%q): %d bytes, want %d", code, len(src.body), len(code))
		}
		for i := range code {
			if (code[i] == '\n') != (src.body[i] == '\n') {
				t.Fatalf("Read(%q) = %q: line end at %d", code, src.body, i)
			}
		}
		text := src.compose()
		for offset := range len(text.text) + 1 {
			if at := text.origin(offset); at < 0 || at > len(code) {
				t.Fatalf("origin(%d) = %d of %d", offset, at, len(code))
			}
		}
	})
}

// Names of modules are near if what is behind "servers/" is; else the message lists the
// modules that there are.
func TestUnknownModulesAreNotGuessed(t *testing.T) {
	few := []string{"helpers/callMCPTool", "servers/files", "servers/github", "skills/notes"}
	many := []string{"skills/notes"}
	for i := range 12 {
		many = append(many, fmt.Sprintf("servers/s%02d", i))
	}
	for _, tt := range []struct {
		path  string
		names []string
		want  string
	}{
		{"./servers/mail", few, `cannot find module "./servers/mail"; there are ./servers/files, ./servers/github`},
		{"./servers/jira", few, `; there are ./servers/files, ./servers/github`},
		{"@/servers/slack/postMessage", few, `; there are ./servers/files, ./servers/github`},
		{"./skills/charts", few, `; there are ./skills/notes`},
		{"./servers/gitub", few, `; did you mean ./servers/github?`},
		{"github", few, `; did you mean ./servers/github?`},
		{"./servers/mail", many, `./servers/s06, ./servers/s07 and 4 more`},
		{"./servers/mail", []string{"helpers/callMCPTool"}, `; no server has tools here`},
	} {
		src, err := Read(Program{Code: "import x from '" + tt.path + "';\nreturn x", ModuleNames: tt.names})
		if err == nil {
			_, err = src.Build(0)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.path, err, tt.want)
		}
	}
}
