package broker_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/broker"
)

func TestScriptsSearchAndDescribe(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	b.Refresh(t.Context())
	a := execute(t, b, `
		const found = await tools.search('read the text of a file', { limit: 1 });
		const d = await tools.describe(found.tools[0].name);
		const here = await tools.search('note', { server: 'notes', detail: 'name' });
		const text = await callMCPTool(d.name, { path: 'a' });
		return [found.showing, d.name, d.read_only, d.description, Object.keys(d.inputSchema.properties), d.declaration.includes('path: string'),
			here.tools, (await tools.describe('notes.createNote')).outputSchema.properties.count.type, text]`)
	want := `[1,"files__read_file",true,"Read the text of a file. Fails if there is none.",["path"],true,` +
		`[{"name":"notes__create_note","server":"notes"}],"integer","text of a"]`
	if diff := cmp.Diff(want, string(a.Result)); diff != "" || a.ExitCode != 0 {
		t.Errorf("exit %d %s (-want +got):\n%s", a.ExitCode, a.Stderr, diff)
	}
	if len(a.ToolsCalled) != 1 || a.ToolsCalled[0].Tool != "files__read_file" {
		t.Errorf("tools_called %+v, want the one tool call: searches are none", a.ToolsCalled)
	}
}

func TestScriptsHearWhatIsWrongWithASearch(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{ReadOnly: true})
	b.Refresh(t.Context())
	for _, c := range []struct{ code, want string }{
		{`return await tools.describe('files__red_file')`, `ToolError: unknown tool "files__red_file"; did you mean files__read_file?`},
		{`return await tools.describe('files__delete_file')`, "ToolError: files__delete_file is not marked read-only"},
		{`return await tools.describe()`, "tools.describe: which tool?"},
		{`return await tools.search('x', { detail: 'huge' })`, "tools.search: unknown detail \"huge\": use name, desc or full"},
		{`return await tools.search('x', { limit: 0 })`, "tools.search: limit is 0: use 1 to 50"},
		{`return await tools.search({ q: 'x' })`, `tools.search: unknown option "q": use query, queries, server, detail, limit, offset`},
		{`return await tools.search('x', { limt: 2 })`, `tools.search: unknown option "limt": did you mean limit?`},
		{`try { await tools.describe('nothing__here') } catch (e) { throw new Error(e.code + ' ' + (e instanceof ToolError)) }`, "unknown_tool true"},
	} {
		a := execute(t, b, c.code)
		if a.ExitCode != 1 || !strings.Contains(a.Stderr, c.want) {
			t.Errorf("%s: exit %d, stderr %q, want %q in it", c.code, a.ExitCode, a.Stderr, c.want)
		}
	}
}

// A script that describes a tool of a server that is still being listed waits
// for it, as a call would.
func TestDescribeWaitsForTheServer(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	d, err := b.Describe(t.Context(), "notes__create_note")
	if err != nil {
		t.Fatal(err)
	}
	if d.Server != "notes" || !json.Valid(d.InputSchema) {
		t.Errorf("described %+v", d)
	}
}
