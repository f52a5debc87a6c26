package api

import (
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// A search that has no time looks through one step, and says how far it went: asked
// on and on, it finds each thing once.
func TestSearchesGoOnWhereTheyStopped(t *testing.T) {
	v := newView(t)
	v.record("ann", "1", state.Call{Server: "rare", Tool: "x", Status: state.CallOK})
	for i := range 2 * callStep {
		v.store.Record(state.Call{Server: "s", Tool: "x", Seq: i, Status: state.CallOK})
	}
	v.record("ann", "2", state.Call{Server: "rare", Tool: "x", Status: state.CallOK})
	reader := &Reader{Audit: v.store}
	for _, tt := range []struct {
		f    state.CallFilter
		want int
	}{{state.CallFilter{Server: "rare", Limit: 10}, 2}, {state.CallFilter{Limit: 3 * callStep}, 2*callStep + 2}, {state.CallFilter{Server: "none"}, 0}, {state.CallFilter{Limit: 7}, 7}} {
		seen, asked := map[int64]bool{}, 0
		for at := int64(1); at != 0; asked++ {
			found, err := reader.searchCalls(t.Context(), tt.f, -1)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range found.Calls {
				if seen[c.N] {
					t.Errorf("%+v: call %d twice", tt.f, c.N)
				}
				seen[c.N] = true
			}
			at, tt.f.Before = found.Searched, found.Searched
		}
		if len(seen) != tt.want || (asked > 1) != (tt.want != 7) {
			t.Errorf("%+v: %d calls in %d steps, want %d", tt.f, len(seen), asked, tt.want)
		}
	}

	if found, err := reader.searchCalls(t.Context(), state.CallFilter{Limit: 1, Before: 1 << 62}, -1); err != nil || len(found.Calls) != 1 || found.Searched != 0 {
		t.Errorf("before a number that no call has: %d calls, searched %d, %v", len(found.Calls), found.Searched, err)
	}

	for i := range 20 { // in one step, and in others with days between them
		id := v.store.Begin(state.Execution{Client: "bob", Code: "3", Started: time.Now().Add(-time.Duration(i/2) * 30 * time.Hour)})
		if err := v.store.Finish(state.Execution{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	f, n, asked := state.Filter{Client: "bob"}, 0, 0
	for more := true; more; asked++ {
		found, err := reader.searchExecutions(t.Context(), f, -1)
		if err != nil {
			t.Fatal(err)
		}
		n += len(found.Executions)
		if more = found.Searched != nil; more {
			f.Until = *found.Searched
		}
	}
	if n != 20 || asked != 10 {
		t.Errorf("%d executions in %d steps, want 20 in 10", n, asked)
	}
}

func TestTheGistOfAScript(t *testing.T) {
	for code, want := range map[string]string{
		"":                                       "",
		"return 1":                               "return 1",
		"\n\n  // List stale issues.\nawait x()": "// List stale issues.",
		"import { a } from './servers/b';\nimport x from 'y'\n\nreturn a()": "return a()",
	} {
		if got := gist(code); got != want {
			t.Errorf("gist(%q) = %q, want %q", code, got, want)
		}
	}
}
