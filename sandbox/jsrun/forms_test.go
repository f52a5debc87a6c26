package jsrun

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Programs have the forms that models know from other runtimes.
func TestFormsOfPrograms(t *testing.T) {
	for _, c := range []struct{ code, value, refused string }{
		{code: "module.exports = async () => (await callMCPTool('echo__echo', { a: 1 })).a", value: "1"},
		{code: "module.exports = async function () { return 2 };", value: "2"},
		{code: "async function go() { return 3 }\nmodule.exports = go", value: "3"},
		{code: "async function main() { return 4 }\nmodule.exports = { main };", value: "4"},
		{code: "exports.default = () => 5", value: "5"},
		{code: "exports.run = async () => 6;", value: "6"},
		{code: "exports = module.exports = async () => 7", value: "7"},
		{code: "module.exports.default = async () => 8;", value: "8"},
		{code: "Object.defineProperty(exports, '__esModule', { value: true });\nexports.default = async () => 9;", value: "9"},
		{code: "exports.__esModule = true;\nexports.default = 10;", value: "10"},
		{code: "module.exports = { n: 11 };", value: `{"n":11}`},
		{code: "export default { async run() { return this.n }, n: 12 }", value: "12"},
		{code: "const a = 13\nmodule.exports = a", value: "13"},
		{code: "let n = 0;\nasync function main() { n++ }\nmain();\nmodule.exports = main;\nreturn n", value: "1"},
		{code: "let n = 0;\nfunction main() { n++ }\nmain();\nawait null;\nexport default main;", value: ""},
		{code: "let n = 0;\nif (require.main === module) { n = 14 }\nreturn n", value: "14"},
		{code: "let n = 0; if (module == require.main) n = 15; return n", value: "15"},
		{code: "if (typeof module !== 'undefined') module.exports = {};\nreturn 16", value: "16"},
		{code: "if (typeof module !== 'undefined' && module.exports) {\n  module.exports = {};\n}\nreturn 17", value: "17"},
		{code: "const o = { module: 1, exports: 17 }; return o.exports + o.module", value: "18"},
		{code: "export default async () => 19", value: "19"},
		{code: "const module = { exports: 20 }; return module.exports", value: "20"},
		{code: "Here is the script:\n\n```ts\nreturn 21;\n```\nIt returns a number; see `x`.", value: "21"},
		{code: "~~~js\nreturn 22\n~~~", value: "22"},
		{code: "````ts\nreturn 23;\n````\n", value: "23"},
		{code: "```{js}\nreturn 24\n```", value: "24"},
		{code: "const md = [\n'```js',\n'x',\n'```'];\nreturn md.length + 22", value: "25"},
		{code: "const x = 1; /*\n```\n*/ return 26", value: "26"},
		{code: "return 27 // done", value: "27"},
		{code: "(async () => { return 28 })() // the end\n/* really */", value: "28"},
		{code: "#!/usr/bin/env node\nreturn 29", value: "29"},
		{code: "\ufeff#!/usr/bin/env -S npx tsx\r\nexport default async () => 30", value: "30"},
		{code: "```ts\n#!/usr/bin/env bun\nreturn 31\n```", value: "31"},
		{code: "return '#!/bin/sh'.length + 23", value: "32"},
		{code: "exports.fetchAll = async () => 1", refused: "end with return, or export default a function"},
		{code: "```ts\nconst a = 1;\n```\nand then\n```ts\nreturn a;\n```", refused: "2 fenced blocks"},
	} {
		out, _ := run(t, sandbox.TypeScript, c.code)
		switch {
		case c.refused != "" && (out.ExitCode != sandbox.ExitRefused || !strings.Contains(out.Error, c.refused) || !strings.Contains(out.Error, "0 tools called")):
			t.Errorf("%s: exit %d, %s; want it refused: %s", c.code, out.ExitCode, out.Error, c.refused)
		case c.refused == "" && (out.ExitCode != 0 || string(out.Value) != c.value):
			t.Errorf("%s: exit %d, %s %s; want %s", c.code, out.ExitCode, out.Value, out.Error, c.value)
		}
	}
	if out, _ := run(t, sandbox.TypeScript, "const x = module.paths;"); out.ExitCode != sandbox.ExitThrew || !strings.Contains(out.Error, "end with return, or export default") {
		t.Errorf("module.paths: exit %d, %s", out.ExitCode, out.Error)
	}
	if out, _ := run(t, sandbox.TypeScript, "export async function handler(event) { return event }\nconst helper = (a) => a"); len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "as in return handler(") {
		t.Errorf("only declarations: notes %q", out.Notes)
	}
}
