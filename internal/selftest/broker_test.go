package selftest

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
	"github.com/mcpbroker/mcpbroker/state"
)

// What hostile scripts are tried on is the whole road of execute_code: the bridge
// and its counters, the store, skills and the record.
func TestHostileScriptsMeetTheWholeBroker(t *testing.T) {
	runner := worker.New(nil)
	defer runner.Close()
	a, err := openAttacked(runner, t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.audit.Close()
	var made atomic.Int64
	res, err := a.run(t.Context(), sandbox.Request{
		Language: sandbox.JavaScript, Limits: sandbox.Limits{Calls: 20},
		Code: `await store.set("k", 1);
			const refused = await skills.call("attack", "start", {});
			const code = await callMCPTool("demo__echo", {}).catch(e => e.code);
			return [await store.keys(), refused.message.includes("limit of 20 calls"), code, (await tools.describe("demo__slow")).name]`,
		Call: func(_ context.Context, c sandbox.Call) (json.RawMessage, error) {
			made.Add(1)
			return c.Args, nil
		},
	})
	if want := `[["k"],true,"call_limit","demo__slow"]`; err != nil || string(res.Value) != want || made.Load() != 20 {
		t.Errorf("%d calls made, %s, %s, %v; want 20, %s", made.Load(), res.Value, res.Error, err, want)
	}
	if list, err := a.audit.List(t.Context(), state.Filter{}); err != nil || len(list) != 1 || list[0].Calls != 20 {
		t.Errorf("recorded: %+v, %v", list, err)
	}
}
