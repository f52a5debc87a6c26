package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// Versions of the protocol, as servers of tests have them.
const (
	legacyVersion = "2025-11-25"
	modernSince   = "2026-07-28"
)

// probeWait is how long the servers of tests have to answer the probe.
const probeWait = 4 * time.Second

// guardedArg makes the test binary a broker with a guard.
const guardedArg = "guarded-broker"

func TestMain(m *testing.M) {
	if launch.IsGuard() {
		launch.GuardMain()
		return
	}
	fakeupstream.RunIfAsked()
	if len(os.Args) > 1 && os.Args[1] == guardedArg {
		runGuarded(os.Args[2:])
		return
	}
	eventually.Overlap()
	os.Exit(m.Run())
}

// runGuarded is such a broker: it has one server, which leaves a child in a
// session of its own, and prints the mark of both. With a command, that is its
// server, for which it does not wait. It lives until its stdin ends, and then
// ends as it should.
func runGuarded(command []string) {
	c := fake("s", fakeupstream.Daemon)
	if len(command) > 0 {
		c.Command, c.Args = command[0], command[1:]
	}
	p := NewPool([]Config{c}, &Options{Guard: true})
	if len(command) > 0 {
		p.Start(context.Background())
		fmt.Println(ownMark() + ".1")
	} else {
		p.Refresh(context.Background())
		s := p.roster.Load().byName["s"]
		s.mu.Lock()
		fmt.Println(s.sess.Process.Mark())
		s.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	p.Close()
}

// ownMark is what the marks of this test binary's servers begin with.
func ownMark() string {
	return fmt.Sprintf("%s.%d.%s", spawn.PIDNamespace(), os.Getpid(), spawn.StartTime(os.Getpid()))
}

// fake is the configuration of a fake server. Its timeouts are long enough for
// a loaded machine; a test that has to see one run out sets a short one.
func fake(name string, mode fakeupstream.Mode) Config {
	return Config{
		Name: name, Command: fakeupstream.Command(), Args: fakeupstream.Args(mode),
		StartTimeout: 30 * time.Second, CallTimeout: 30 * time.Second,
	}
}

// newPool returns a pool that is closed with the test.
func newPool(t testing.TB, o *Options, configs ...Config) *Pool {
	t.Helper()
	p := NewPool(configs, o)
	t.Cleanup(func() { p.Close() })
	return p
}

// textOf is the text of the first block of a result.
func textOf(t testing.TB, result json.RawMessage) string {
	t.Helper()
	var r struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("result %.200s has no text", result)
	}
	return r.Content[0].Text
}

// toolNames are the names of the tools of the only listing of p.
func toolNames(t testing.TB, p *Pool) []string {
	t.Helper()
	listings := p.Listings()
	if len(listings) != 1 {
		t.Fatalf("%d listings, want 1; status %+v", len(listings), p.Status())
	}
	names := []string{}
	for _, tool := range listings[0].Tools {
		names = append(names, tool.Name)
	}
	return names
}
