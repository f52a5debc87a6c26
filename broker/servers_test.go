package broker_test

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

func TestServersAboutToStartAreStarting(t *testing.T) {
	dead := upstream.Config{Name: "dead", Command: "/no/such/program"}
	b, err := broker.New(broker.Deps{Runner: inproc.New()}, broker.Settings{Servers: []upstream.Config{dead}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if s := b.ListServers("").Servers[0]; s.Status != "idle" {
		t.Errorf("before the start: %+v, want idle", s)
	}
	b.StartSoon(t.Context())
	if s := b.ListServers("").Servers[0]; s.Status == "idle" {
		t.Errorf("right after the start: %+v, want starting", s)
	}
	failed := func() bool { return strings.Contains(b.ListServers("").Servers[0].Error, "/no/such/program") }
	eventually(t, "the failure is shown", failed)
	done := make(chan struct{})
	go func() { defer close(done); b.Refresh(t.Context()) }()
	for trying := true; trying; {
		select {
		case <-done:
			trying = false
		default:
		}
		if !failed() {
			t.Fatalf("while it is tried again: %+v, want the last failure", b.ListServers("").Servers[0])
		}
	}
}
