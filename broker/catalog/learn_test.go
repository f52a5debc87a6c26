package catalog_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// Known waits for no server, whatever its state, and says which one is not listed.
func TestKnownWaitsForNoServer(t *testing.T) {
	known := discovery.Listing{Server: "fixed", Tools: []discovery.ListedTool{{Name: "one"}}}
	c := catalog.New(catalog.Options{
		Servers: []upstream.Config{{Name: "slow", Command: "sh", Args: []string{"-c", "sleep 60"}}, {Name: "slow-too", Command: "/no/such/program"}},
		Fixed:   []discovery.Listing{known},
	}, &upstream.Options{}, func() {})
	defer c.Close()
	if d, err := c.Known("fixed.one"); err != nil || d.Name != "fixed__one" {
		t.Errorf("got %+v, %v", d, err)
	}
	for name, server := range map[string]string{"slow.x": "slow", "slow__x": "slow", "slow-too/x": "slow-too", "slow_too__x": "slow-too", "fixed.two": "", "other.x": ""} {
		_, err := c.Known(name)
		e, unlisted := errors.AsType[*catalog.UnlistedError](err)
		if err == nil || unlisted != (server != "") || unlisted && e.Server != server {
			t.Errorf("Known(%q): %v", name, err)
		}
	}
	for _, st := range c.Pool.Status() {
		if st.State != upstream.StateIdle {
			t.Errorf("%s is %s", st.Name, st.State)
		}
	}
}

// After Learn the servers that it connects are starting, those that failed are not, and the
// wait for them ends with them or with its context.
func TestAwaitStarting(t *testing.T) {
	c := catalog.New(catalog.Options{Servers: []upstream.Config{
		{Name: "slow", Command: "sh", Args: []string{"-c", "sleep 60"}},
		{Name: "gone", Command: "/no/such/program"},
		{Name: "left", Command: "sh", Args: []string{"-c", "sleep 60"}},
	}}, &upstream.Options{}, func() {})
	defer c.Close()
	if list := c.Starting(""); len(list) != 0 {
		t.Errorf("before: %v", list)
	}
	c.Learn(t.Context(), "slow", "gone")
	c.AwaitStarting(t.Context(), "gone") // does not wait for slow
	if list := c.Starting(""); len(list) != 1 || list[0].Name != "slow" {
		t.Errorf("starting: %v", list)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if c.AwaitStarting(ctx, ""); ctx.Err() == nil {
		t.Error("the wait ended before its time")
	}
}
