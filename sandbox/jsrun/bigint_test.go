package jsrun

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Results have integers beyond 2^53 as bigints; operations that do not accept them fail
// with a hint.
func TestBigintsFailWithAHint(t *testing.T) {
	for code, want := range map[string]string{
		"id + 1":                             "x + 1n",
		"[id, 1].reduce((a, b) => a + b, 0)": "x + 1n",
		"id / 1000":                          "Number(x)",
		"Math.max(...[id, id])":              "a > b ? a : b",
		"[id, id].sort((a, b) => b - a)":     "a < b ? -1",
		"new Date(id)":                       "new Date(Number(x))",
		"id >>> 0":                           ">>",
	} {
		out, _ := run(t, sandbox.JavaScript, `const id = JSON.parse('{"id":2047948614742839297}').id; return `+code)
		if out.ExitCode != sandbox.ExitThrew || !strings.Contains(out.Error, "\nhint: integers beyond 2^53 are bigints in results: ") || !strings.Contains(out.Error, want) {
			t.Errorf("%s: exit %d, %s", code, out.ExitCode, out.Error)
		}
	}
	out, _ := run(t, sandbox.JavaScript, `const [a, b] = JSON.parse('[2047948614742839298,2047948614742839297]');
return [[a, 3, b].sort((x, y) => (x < y ? -1 : x > y ? 1 : 0)), [a, b].reduce((x, y) => (x > y ? x : y)), a === 2047948614742839298n, new Map([[a, 1]]).get(2047948614742839298n)]`)
	if want := "[[3,2047948614742839297,2047948614742839298],2047948614742839298,true,1]"; string(out.Value) != want {
		t.Errorf("got %s (%s), want %s", out.Value, out.Error, want)
	}
}
