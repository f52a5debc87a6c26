package broker_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// Clients learn that the servers named in search_tools changed, and scripts
// and searches see the new ones at once.
func TestApply(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "files")}})
	changed := make(chan struct{}, 8)
	cs := connect(t, b, "2025-11-25", &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
		changed <- struct{}{}
	}})
	b.Apply(broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "notes")}, ReadOnly: true})
	<-changed
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.Name == "execute_code" && !tool.Annotations.ReadOnlyHint {
			t.Error("execute_code is not marked read-only in read-only mode")
		}
	}
	if a := execute(t, b, `return await notes.createNote({ title: 'x' })`); a.ExitCode == 0 {
		t.Errorf("read-only mode is not in force: %+v", a)
	}
	b.Apply(broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "notes")}})
	if a := execute(t, b, `return (await notes.createNote({ title: 'x' })).count`); string(a.Result) != "1" {
		t.Errorf("the new server: %+v", a)
	}
	if a := execute(t, b, `return await files.readFile({ path: 'x' })`); a.ExitCode != 1 {
		t.Errorf("the old server is still there: %+v", a)
	}
}
