package script

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// leading are the imports at the beginning of a script, with blank lines and
// comments between them.
var leading = lazyregexp.New(`^(?:\s|//[^\n]*(?:\n|$)|(?s:/\*.*?\*/)|import\s*(?:type\s+)?(?:[\w$*{}\s,]+?\s*from\s*)?["'][^"'\n]*["'][ \t]*;?)*`)

// module makes a module of a script that exports main. A script without main
// becomes the body of one. Names that programs have without an import are
// imported, on the first line, so that lines stay where they are.
func module(code string, servers []*discovery.Server) string {
	before := ""
	add := func(name, from, clause string) {
		if uses(code, name) && !declares(code, name) {
			before += "import " + clause + " from '" + from + "'; "
		}
	}
	add("callMCPTool", "./helpers/callMCPTool", "{ callMCPTool }")
	add("ToolError", "./helpers/callMCPTool", "{ ToolError }")
	for _, s := range servers {
		add(s.Namespace, "./"+codegen.ModulePath(s), "* as "+s.Namespace)
	}
	if !hasMain(code) {
		head := leading.FindString(code)
		code = head + "export async function main() {" + code[len(head):] + "\n}\n"
	}
	return before + code
}

// uses reports whether a name occurs as that of a value.
func uses(code, name string) bool {
	return regexp.MustCompile(`(?:^|[^\w$.'"/]|\.\.\.)` + regexp.QuoteMeta(name) + `(?:$|[^\w$'"])`).MatchString(code)
}

// declares reports whether a script declares or imports a name by itself.
func declares(code, name string) bool {
	q := regexp.QuoteMeta(name)
	return regexp.MustCompile(`\b(?:const|let|var|function|class)\s+` + q + `\b|\bimport\b[^;'"]*[\s{,*]` + q + `\b[^;'"]*\bfrom\b`).MatchString(code)
}

// Driver is a program that runs a script with an input, which is JSON; nil is
// none.
func Driver(s *Script, ref string, input []byte) string {
	if !hasMain(s.Code) {
		return s.Code
	}
	return fmt.Sprintf("// broker run %s\nimport { main } from './scripts/%s';\nreturn await main(%s);\n", ref, ref, strings.TrimSpace(string(input)))
}
