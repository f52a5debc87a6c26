package jsrun

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Whatever ends the lines of a program, positions have the line and the column
// that an editor shows.
func TestPositionsByWhatEndsALine(t *testing.T) {
	lines := func(list ...string) []string { return list }
	for _, tt := range []struct {
		name, want string
		program    []string
	}{
		{"a syntax error", ":3:11: Unexpected \")\"\n  const b = );\n            ^", lines("/* 1", "2 */", "const b = );", "more();")},
		{"an unexpected end", ":3:5: Unexpected end of file", lines("", "", "foo( ", "", "")},
		{"a module that is not there", ":3:19: ", lines("// 1", "// 2", "import { a } from './servers/nope';", "a()")},
		{"a computed import", ":2:7: import() takes the name of a module as it is", lines("const x = 'y';", "await import(x)")},
		{"an exception", ":3:5)", lines("function f() {", "  null;", "  o.x;", "}", "let o = null; f();")},
		{"an exception behind wide characters", ":2:17\n", lines("const o = null;", "/* é😀 */ ''; o.x;")},
		{"behind a fence", ":3:11: Unexpected \"}\"", lines("```ts", "let a = 1;", "if (a) {} } }", "```")},
		{"an unknown name", "undefinedName is not defined\n  at agent.ts:3:1", lines("`", "`;", "undefinedName")},
	} {
		for _, end := range []string{"\n", "\r\n", "\r", "\u2028", "\u2029"} {
			for _, lang := range []sandbox.Language{sandbox.TypeScript, sandbox.JavaScript} {
				if lang == sandbox.JavaScript && strings.Contains(tt.want, "agent.ts") {
					continue
				}
				t.Run(fmt.Sprintf("%s/%q/%s", tt.name, end, lang), func(t *testing.T) {
					t.Parallel()
					out, _ := run(t, lang, strings.Join(tt.program, end))
					if !strings.Contains(out.Error+"\n", tt.want) {
						t.Errorf("exit %d %s\nwant %q", out.ExitCode, out.Error, tt.want)
					}
				})
			}
		}
	}
}
