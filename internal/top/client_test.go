package top

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// A fakeBroker answers what a console reads.
type fakeBroker struct {
	mu     sync.Mutex
	calls  int64    // made so far
	limits []string // that calls were asked with
	broken bool
}

func (f *fakeBroker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var answer any
	_, noCookie := r.Cookie("session")
	switch {
	case r.URL.Path == "/console/session":
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "c", Path: "/"})
		answer = map[string]any{"key": "k"}
	case f.broken || noCookie != nil || r.Header.Get("Broker-Console-Key") != "k":
		w.WriteHeader(http.StatusUnauthorized)
		answer = map[string]any{"detail": "the session has ended"}
	case r.URL.Path == "/api/calls":
		f.limits = append(f.limits, r.URL.Query().Get("limit"))
		limit, _ := strconv.ParseInt(r.URL.Query().Get("limit"), 10, 64)
		list := []map[string]any{}
		for n := f.calls; n > max(0, f.calls-limit); n-- {
			list = append(list, map[string]any{"n": n, "server": "s", "status": "ok"})
		}
		answer = map[string]any{"calls": list}
	case r.URL.Path == "/api/servers":
		answer = map[string]any{"servers": []any{map[string]any{"name": "漢字server", "status": "ready", "tool_count": 3}, map[string]any{"name": "other"}}}
	case r.URL.Path == "/api/servers/other":
		answer = map[string]any{"server": map[string]any{"name": "other", "status": "ready"}, "stderr": []string{"it \x1b[2J says"}}
	case r.URL.Path == "/api/approvals":
		answer = map[string]any{"runs": []any{map[string]any{"run_id": "r_1"}, map[string]any{"run_id": "r_gone"}}}
	case r.URL.Path == "/api/runs/r_1":
		answer = map[string]any{"calls": []any{map[string]any{"n": 1, "tool": "t", "state": "asked"}, map[string]any{"n": 2, "tool": "u", "state": "done"}}}
	case r.URL.Path == "/api/executions", r.URL.Path == "/api/stats":
		answer = map[string]any{"tokens_saved": map[string]any{"results": 7}}
	default:
		w.WriteHeader(http.StatusNotFound)
		answer = map[string]any{"detail": "no such run"}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func startBroker(t *testing.T) (f *fakeBroker, open func() (string, error)) {
	f = &fakeBroker{}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return f, func() (string, error) { return s.URL + "/#token=t", nil }
}

// Every call is read, however many were made since the last time, and few are read again.
func TestEveryCallIsRead(t *testing.T) {
	f, open := startBroker(t)
	c, err := connect(t.Context(), open)
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[int64]bool)
	for _, fresh := range []int64{5, 99, 0, 400, 0, 0, 7000, 0, 0, 0, 1} {
		f.calls += fresh
		a, err := c.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range a.Calls {
			known[one.N] = true
		}
	}
	if want := "[1000 100 100 100 1000 100 100 1000 10000 100 100]"; fmt.Sprint(f.limits) != want || len(known) != int(f.calls) {
		t.Errorf("%d of %d calls were read in %v, want %s", len(known), f.calls, f.limits, want)
	}
}

// A run that nobody waits for any more is left out, and an error is what the broker says.
func TestRead(t *testing.T) {
	f, open := startBroker(t)
	c, err := connect(t.Context(), open)
	if err != nil || c.savedTokens != 7 {
		t.Fatal(c, err)
	}
	a, err := c.read(t.Context())
	if err != nil || len(a.Runs) != 1 || len(a.Runs[0].Calls) != 1 || len(a.Servers) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	f.broken = true
	m := busy()
	m.o.Connect, m.client, m.polling = open, c, true
	m.poll(t.Context(), c)(m)
	if m.client != nil || m.polling || m.problem == "" || len(m.Servers) != 3 {
		t.Errorf("after %q it has %d servers", m.problem, len(m.Servers))
	}
	f.broken = false
	if m.poll(t.Context(), nil)(m); m.client == nil || m.problem != "" || len(m.Servers) != 2 || m.savedTokens != 7 {
		t.Errorf("after %q it has %d servers, %d tokens", m.problem, len(m.Servers), m.savedTokens)
	}
	if do := press(m, "a"); do != nil || m.page == nil {
		t.Error("no question")
	}
}
