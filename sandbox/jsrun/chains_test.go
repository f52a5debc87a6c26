package jsrun

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// goja reads a < b < c as a < (b < c).
func TestChainedComparisons(t *testing.T) {
	for _, tt := range []struct{ code, want string }{
		{"return 3 > 2 > 1", "false"},
		{"return 1 < 2 < 3", "true"},
		{"return 1 < (2 < 3)", "false"},
		{"return (3 > 2) > 1", "false"},
		{"return 3 > 2 > 1 > 0 > -1", "true"},
		{"return 5 > (3 > 2 > 1) >= 0", "true"},
		{"return 5 > (4 > 2) > 0", "true"},
		{"const o = { a: [1] }; return 3 > (o.x ?? o.a).length > 1", "false"},
		{"const o = { a: [1] }; return 3 > ((o.x ?? o.a).length > 1)", "true"},
		{"return 3 > /* ( */ (2 /* ) */ > 1)", "true"},
		{"return 3 > /* ( */ 2 > 1", "false"},
		{"const f = (x) => x; return 3 > (f)(2) > 1 ? 'y' : 'n'", `"n"`},
		{"return 'a' in { a: 1 } instanceof Object", "false"},
	} {
		for _, lang := range []sandbox.Language{sandbox.JavaScript, sandbox.TypeScript} {
			if out := Run(t.Context(), Program{Language: lang, Code: tt.code}, &memHost{}); string(out.Value) != tt.want {
				t.Errorf("%s: %s: Run = %+v, want %s", lang, tt.code, out, tt.want)
			}
		}
	}
}
