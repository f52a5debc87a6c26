package broker_test

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// Tools whose names differ in style only are called each by its own names.
func TestToolsWhoseNamesDifferInStyle(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{listing(t, "s",
		listedTool{Name: "GetUser", InputSchema: stringParams()}, listedTool{Name: "get_user", InputSchema: stringParams()},
		listedTool{Name: "getUser", InputSchema: stringParams()}, listedTool{Name: "get-user", InputSchema: stringParams()})}})
	b.Refresh(t.Context())
	want := make(map[string]string) // what each way to call gives
	var ways, funcs []string
	for _, tool := range b.Catalog().Tools() {
		for _, way := range []string{tool.Func, "s." + tool.Func, "callMCPTool.bind(null, '" + tool.ID + "')", "callMCPTool.bind(null, 's." + tool.Name + "')", "callMCPTool.bind(null, 's__" + tool.Name + "')"} {
			ways = append(ways, way)
			want[way] = tool.Name
		}
		funcs = append(funcs, tool.Func)
	}
	a := execute(t, b, "import { "+strings.Join(funcs, ", ")+" } from './servers/s';\nconst called = [];\nfor (const f of ["+
		strings.Join(ways, ", ")+"]) called.push((await f({})).split(' ')[0]);\nreturn called.join();")
	var names []string
	for _, way := range ways {
		names = append(names, want[way])
	}
	if got, all := string(a.Result), `"`+strings.Join(names, ",")+`"`; got != all {
		t.Errorf("%s\n%s\ncalled %s, want %s", strings.Join(ways, "\n"), a.Stderr, got, all)
	}
}
