package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// A change of the configuration stops what is gone, restarts what changed and
// starts what is new, and what did not change keeps its process.
func TestUpdateTouchesOnlyWhatChanged(t *testing.T) {
	good := func(name, description string) Config {
		return Config{Name: name, Description: description, Command: fakeupstream.Command(), Args: fakeupstream.Args(fakeupstream.Good)}
	}
	p := NewPool([]Config{good("same", ""), good("changed", "a"), good("gone", "")}, nil)
	defer p.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p.Start(ctx)
	p.Refresh(ctx)
	before := pids(p)
	if before["same"] == 0 || before["changed"] == 0 || before["gone"] == 0 {
		t.Fatalf("processes %v, want three", before)
	}
	gone := p.roster.Load().byName["gone"]

	p.Update([]Config{good("new", ""), good("changed", "b"), good("same", "")})
	for _, name := range []string{"new", "changed", "same"} {
		if err := p.Wait(ctx, name); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var names []string
	for _, s := range p.Status() {
		names = append(names, s.Name)
	}
	after := pids(p)
	if len(names) != 3 || names[0] != "new" || after["same"] != before["same"] || after["changed"] == before["changed"] || after["new"] == 0 {
		t.Errorf("servers %v with processes %v after %v", names, after, before)
	}
	for _, l := range p.Listings() {
		if l.Server == "changed" && l.Description != "b" {
			t.Errorf("changed is described as %q, want b", l.Description)
		}
	}
	if _, err := p.Call(ctx, "gone", "echo", nil, nil); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("a call to what is gone: %v, want ErrUnknownServer", err)
	}
	gone.close() // which Update does in the background
	if _, err := (&call{server: gone, tool: "echo", args: json.RawMessage("{}")}).once(ctx, gone); !errors.Is(err, ErrClosed) {
		t.Errorf("a call that was on its way to what is gone: %v, want ErrClosed", err)
	}
}

func pids(p *Pool) map[string]int {
	m := make(map[string]int)
	for _, s := range p.Status() {
		m[s.Name] = s.PID
	}
	return m
}
