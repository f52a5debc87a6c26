package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
	"github.com/mcpbroker/mcpbroker/state"
)

// startAway starts a broker with a database that the test may end.
func startAway(t *testing.T, settings map[string]any) (*replica, *postgrestest.Server, *mcp.ClientSession, string) {
	t.Helper()
	db, err := postgrestest.Start()
	db = postgrestest.Need(t, db, err)
	t.Cleanup(func() {
		if err := db.Stop(); err != nil {
			t.Error(err)
		}
	})
	settings["state"] = db.Address()
	settings["http"] = map[string]any{"tokens": map[string]string{"me": fleetToken}}
	config := filepath.Join(t.TempDir(), "servers.json")
	writeConfig(t, config, map[string]any{"broker": settings, "mcpServers": map[string]any{
		"good": map[string]any{"command": fakeupstream.Command(), "args": fakeupstream.Args(fakeupstream.Good)},
	}})
	ports := freePorts(t, 2)
	r := &replica{addr: ports[0], peers: ports[1], dir: filepath.Join(t.TempDir(), "state"), config: config}
	r.start(t)
	t.Cleanup(func() { r.signal(syscall.SIGKILL); <-r.ended })
	r.ready(t)
	cs := (&fleet{}).connect(t, "http://"+r.addr+"/mcp", modern, nil)
	if err := runs(t.Context(), cs, "return await good.echo({a: 1})", "a"); err != nil {
		t.Fatal(err)
	}
	return r, db, cs, config
}

func readiness(t *testing.T, r *replica) int {
	t.Helper()
	resp, err := http.Get("http://" + r.addr + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// What only reads goes on without the database, and is in the record once, also if the
// broker is killed before the database is back.
func TestReadsGoOnWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	r, db, cs, config := startAway(t, map[string]any{})
	if err := db.Kill(); err != nil {
		t.Fatal(err)
	}
	const n = 20
	for i := range n {
		if err := runs(t.Context(), cs, fmt.Sprintf("return [await good.echo({a: %d}), await good.echo({b: 1})]", i), fmt.Sprint(i)); err != nil {
			t.Errorf("execution %d: %v\n%s", i, err, r.log())
		}
	}
	if err := runs(t.Context(), cs, "return await good.add({a: 1, b: 1})", "\n"); err == nil || !strings.Contains(err.Error(), "database cannot be reached") {
		t.Errorf("a write: %v", err)
	}
	if status := readiness(t, r); status != http.StatusOK {
		t.Errorf("/readyz answers %d", status)
	}
	r.signal(syscall.SIGKILL)
	<-r.ended
	if err := db.Run(); err != nil {
		t.Fatal(err)
	}
	r.start(t)
	r.ready(t)
	at := []string{"--config", config, "--state-dir", r.dir}
	var executions, calls, done int
	ended := func() bool {
		executions, calls, done = 0, 0, 0
		for line := range strings.Lines(string(output(t, brokerCommand(t, append([]string{"audit", "export"}, at...)...)))) {
			var e struct {
				Execution *struct{ Status string }
				Calls     []struct{ Status string }
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			if e.Execution == nil {
				continue
			}
			executions++
			if e.Execution.Status == state.StatusDone {
				done++
			}
			for _, c := range e.Calls {
				if c.Status == state.CallOK {
					calls++
				}
			}
		}
		return executions >= n+2
	}
	eventually.True(t, "all executions are in the record", ended)
	if executions != n+2 || done != n+1 || calls != 1+2*n {
		t.Errorf("%d executions, %d done, %d calls; want %d, %d, %d", executions, done, calls, n+2, n+1, 1+2*n)
	}
	output(t, brokerCommand(t, append([]string{"audit", "verify"}, at...)...))
}

func TestNothingRunsWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	r, db, cs, _ := startAway(t, map[string]any{"stateFailure": "refuse"})
	if err := db.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := runs(t.Context(), cs, "return await good.echo({a: 1})", "\n"); err == nil || !strings.Contains(err.Error(), "was not run: the broker's database cannot be reached") {
		t.Errorf("an execution: %v", err)
	}
	if status := readiness(t, r); status != http.StatusServiceUnavailable {
		t.Errorf("/readyz answers %d", status)
	}
	if err := db.Run(); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "executions run again", func() bool { return runs(t.Context(), cs, "return await good.echo({a: 1})", "a") == nil })
}
