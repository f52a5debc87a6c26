package broker_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// The record has the script of an execution, and what the client calls itself.
func TestRecordNamesTheClient(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		log, err := sqlite.Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		cs := connect(t, newBroker(t, broker.Deps{Audit: log}, broker.Settings{}), version, nil)
		call(t, cs, "execute_code", map[string]any{"code": "return 1"})
		list, err := log.List(t.Context(), state.Filter{})
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v, %v", version, list, err)
		}
		if e := list[0]; e.ClientInfo != "test" || e.Client != "test" || e.Code != "return 1" || !e.Whole() {
			t.Errorf("%s: recorded %+v", version, e)
		}
	}
}
