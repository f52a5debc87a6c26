package broker_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// A namespace is an object like others: to await it, print it or look at it calls
// no tool, whatever the tools are called.
func TestToolsAreNoMembersOfTheLanguage(t *testing.T) {
	var tools []listedTool
	for _, name := range []string{"then", "catch", "finally", "toJSON", "toString", "valueOf", "constructor", "__proto__", "hasOwnProperty", "to_json"} {
		tools = append(tools, listedTool{Name: name, InputSchema: stringParams("x")})
	}
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{listing(t, "odd", tools...)}})
	a := b.Execute(t.Context(), broker.ExecuteRequest{Code: `
		const m = await import('./servers/odd');
		await odd;
		console.log(m, odd);
		return [JSON.stringify(m) === JSON.stringify(odd), typeof odd.then_, typeof odd.toJSON_, typeof odd.constructor_, Object.keys(m).length];`})
	if want := `[true,"function","function","function",10]`; a.ExitCode != 0 || string(a.Result) != want || len(a.ToolsCalled) > 0 {
		t.Errorf("code %d, result %s, called %v, %s; want %s and nothing called", a.ExitCode, a.Result, a.ToolsCalled, a.Stderr, want)
	}
}
