package broker_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/state"
)

// The record says which part of the time was whose, and which line made a call.
func TestRecordHasThePartsOfTimes(t *testing.T) {
	store := openRecord(t)
	cs := connect(t, asking(t, fakeupstream.Good, broker.Deps{Audit: store}, broker.Settings{}), versions[0], nil)
	for _, code := range []string{
		"const p: {path: string} = {path: 'a'};\n\nconst f = () =>\n  asks.echo({});\nawait f().catch(() => 0);\nawait callMCPTool('asks__' + 'none', p).catch(() => 0);",
		"import {echo} from './servers/asks';\n\n\nawait echo({}).catch(() => 0);\n\nawait callMCPTool('asks__' + 'none', {}).catch(() => 0);",
	} {
		call(t, cs, "execute_code", map[string]any{"code": code, "language": "typescript"})
	}
	list, err := store.List(t.Context(), state.Filter{})
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	for _, e := range list {
		if e.Prepared <= 0 || e.Opened <= 0 || e.Prepared+e.Queued+e.Opened >= e.Duration {
			t.Errorf("of %s: prepared %s, queued %s, opened %s", e.Duration, e.Prepared, e.Queued, e.Opened)
		}
		_, calls, err := store.Show(t.Context(), e.ID)
		if err != nil || len(calls) != 2 || calls[0].Line != 4 || calls[1].Line != 6 {
			t.Fatalf("lines of %+v, %v; want 4 and 6", calls, err)
		}
		if sent, never := calls[0], calls[1]; sent.Waited <= 0 || sent.Waited >= sent.Duration || never.Waited != never.Duration {
			t.Errorf("waited %s of %s, and %s of %s, which was never sent", sent.Waited, sent.Duration, never.Waited, never.Duration)
		}
	}
}
