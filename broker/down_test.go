package broker_test

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// A call through the namespace of an unavailable server fails with the server's
// problem, as an import does, and the rest of the script runs.
func TestNamespaceOfAServerThatIsDown(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{
		{Name: "refused", URL: "http://127.0.0.1:1/mcp"},
		{Name: "no-program", Command: "no-such-program-here"},
		{Name: "ends", Command: "sh", Args: []string{"-c", "echo KeyError: API_KEY >&2; exit 1"}},
	}})
	for server, why := range map[string]string{"refused": "connection refused", "noProgram": "no-such-program-here", "ends": "API_KEY"} {
		for _, code := range []string{
			"return await NS.list({})",
			"return await NS.list_things()",
			"return await NS['list']({})",
			"return await NS.delete({ id: 1 })",
			"const { list } = NS; return await list()",
			"return await Promise.all([NS.a(), NS.b()])",
		} {
			code = strings.ReplaceAll(code, "NS", server)
			if a := execute(t, b, code); a.ExitCode != 1 || !strings.Contains(a.Stderr, why) || !strings.Contains(a.Stderr, "is not available") {
				t.Errorf("%s: exit %d, %s", code, a.ExitCode, a.Stderr)
			}
		}
		a := execute(t, b, strings.ReplaceAll("try { await NS.list() } catch (e) { return [e instanceof ToolError, e.code, e.message] }", "NS", server))
		if a.ExitCode != 0 || !strings.Contains(string(a.Result), why) || !strings.Contains(string(a.Result), `[true,"unavailable"`) {
			t.Errorf("%s in try: exit %d, %s %s", server, a.ExitCode, a.Result, a.Stderr)
		}
	}
	if a := execute(t, b, "import { list } from './servers/refused'; return await list()"); a.ExitCode != 2 || !strings.Contains(a.Stderr, "connection refused") {
		t.Errorf("an import: exit %d, %s", a.ExitCode, a.Stderr)
	}
}
