package contain

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
	"github.com/mcpbroker/mcpbroker/state"
)

// The binary of the test is its sandbox too.
func TestMain(m *testing.M) {
	if worker.IsChild() {
		worker.Main()
		return
	}
	os.Exit(m.Run())
}

// A test is of one isolation, of all, or of those that a config uses.
func TestTargets(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock"))
	for _, c := range []struct {
		set       config.Sandbox
		isolation string
		want      string
	}{
		{config.Sandbox{Isolation: "auto"}, "", "worker"},
		{config.Sandbox{Isolation: "container"}, "", "container goja"},
		{config.Sandbox{Isolation: "container", Runner: "node"}, "", "container node"},
		{config.Sandbox{Isolation: "worker", Runner: "node", Languages: map[string]string{"typescript": "container"}}, "", "worker, container node"},
		{config.Sandbox{Isolation: "container"}, "worker", "worker"},
		{config.Sandbox{Isolation: "worker"}, "container", "container goja, container node, container python"},
		{config.Sandbox{}, "all", "worker, container goja, container node, container python"},
	} {
		var names []string
		for _, target := range Targets(c.set, c.isolation) {
			names = append(names, target.Name)
		}
		if got := strings.Join(names, ", "); got != c.want {
			t.Errorf("%+v, %q: %s, want %s", c.set, c.isolation, got, c.want)
		}
	}
}

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
