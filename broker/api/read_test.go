package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/script"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// A view is a Reader over a broker without servers and a real record, and a server
// of it to which requests come from the console, unless signed says otherwise.
type view struct {
	t      *testing.T
	read   *Reader
	store  *sqlite.Store
	runs   *sqlite.Runs
	server *httptest.Server
	in     bool
	ended  atomic.Bool // the session, while requests are under way
	may    bool
	token  string // of a request, if there is one

	servers ServerConfig // nil answers 501 no_config
}

func newView(t *testing.T) *view {
	t.Helper()
	dir := t.TempDir()
	store, err := sqlite.Open(dir, &sqlite.Options{Payloads: true})
	if err != nil {
		t.Fatal(err)
	}
	runs := sqlite.NewRuns(dir, nil)
	b, err := broker.New(broker.Deps{Runner: idle{}, Audit: store, Runs: runs}, broker.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	v := &view{t: t, store: store, runs: runs, in: true, may: true}
	v.read = &Reader{Broker: b, Audit: store, Runs: runs, Pins: pins.Open(files.OpenPins(dir+"/pins"), nil)}
	v.server = httptest.NewServer(New(Options{Library: newBench(t).library(), Owner: ownerOf, AdminToken: admin, Private: true, Reader: v.read, Note: store.Note, Servers: viewServers{v},
		SaveScript: func(name, _, _ string) (any, error) {
			if err := script.CheckName(name); err != nil {
				return nil, err
			}
			return map[string]string{"name": name}, nil
		},
		Session: func(*http.Request) (Session, error) { return Session{In: v.in && !v.ended.Load(), Changes: v.may}, nil }}))
	t.Cleanup(func() {
		v.server.Close()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := runs.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// viewServers are the servers of the view's config.
type viewServers struct{ v *view }

func (s viewServers) Disabled() []broker.ServerInfo {
	if s.v.servers == nil {
		return nil
	}
	return s.v.servers.Disabled()
}
func (s viewServers) Add(n NewServer) ([]string, error) { return s.v.servers.Add(n) }
func (s viewServers) Enable(name string, on bool) error { return s.v.servers.Enable(name, on) }

// idle runs nothing.
type idle struct{ sandbox.Runner }

func (idle) Close() error { return nil }

func (v *view) ask(method, path, body string) (int, string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.server.URL+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if v.token != "" {
		req.Header.Set("Authorization", "Bearer "+v.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	var b strings.Builder
	if _, err := bufio.NewReader(res.Body).WriteTo(&b); err != nil {
		v.t.Fatal(err)
	}
	return res.StatusCode, b.String()
}

func (v *view) record(client, code string, calls ...state.Call) (id string) {
	v.t.Helper()
	id = v.store.Begin(state.Execution{Client: client, Code: code})
	for i, c := range calls {
		c.ExecutionID, c.Seq = id, i+1
		v.store.Record(c)
	}
	if err := v.store.Finish(state.Execution{ID: id, BytesIn: 1000, BytesOut: 10}); err != nil {
		v.t.Fatal(err)
	}
	return id
}

// Pages of other ports of this host have the cookie too.
func TestPagesOfOtherPortsCannotLoadTheRecordAsAScript(t *testing.T) {
	v := newView(t)
	for _, path := range []string{"/api/stream", "/api/calls?format=csv", "/api/calls"} {
		res, err := http.Get(v.server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if h := res.Header; res.StatusCode != http.StatusOK || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %s %v", path, res.Status, h)
		}
	}
}

func TestViewsAreForTheConsoleAlone(t *testing.T) {
	v := newView(t)
	v.in = false
	for _, r := range append(views, routes...) {
		path := strings.NewReplacer("{name}", "x", "{id}", "x", "{path...}", "x").Replace(r.path)
		if status, text := v.ask(r.method, path, "{}"); status != http.StatusForbidden || !strings.Contains(text, "broker console") {
			t.Errorf("%s %s without a session: %d %s", r.method, path, status, text)
		}
	}
	v.in, v.may = true, false
	for _, r := range views {
		if !r.changes {
			continue
		}
		path := strings.NewReplacer("{name}", "x", "{id}", "x").Replace(r.path)
		if status, text := v.ask(r.method, path, "{}"); status != http.StatusForbidden || !strings.Contains(text, "only shows") {
			t.Errorf("%s %s of a session that only shows: %d %s", r.method, path, status, text)
		}
	}
}

func TestViewsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range views {
		if row := fmt.Sprintf("| `%s %s` |", r.method, r.path); !strings.Contains(string(data), row) {
			t.Errorf("docs/console.md has no row %q", row)
		}
	}
	if rows := strings.Count(string(data), "/api/"); rows != len(views) {
		t.Errorf("docs/console.md names %d operations, there are %d", rows, len(views))
	}
}

func TestViewsAnswer(t *testing.T) {
	v := newView(t)
	id := v.record("ann", "const key = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'",
		state.Call{Server: "git", Tool: "<img onerror>", ID: "git__x", Status: state.CallOK, Class: "read", Args: []byte(`{"password":"hunter2hunter2"}`)},
		state.Call{Server: "git", Tool: "push", ID: "git__push", Status: state.CallError, Error: "=1+1"})
	v.store.Note(state.Event{Kind: state.EventDrift, Server: "git"})
	v.record("bob", "2")
	for _, tt := range []struct {
		path   string
		status int
		want   string // in the answer; after "!", not in it
	}{
		{"/api/servers", 200, `"total_tools":0`},
		{"/api/servers/none", 404, `no server \"none\"`},
		{"/api/search?q=issue", 200, `"answer":"{\"match_count\":0`},
		{"/api/search?q=x&detail=all", 422, "unknown detail"},
		{"/api/executions", 200, `"client":"bob"`},
		{"/api/executions", 200, `"code":"const key = '[redacted]'"`},
		{"/api/executions?client=ann", 200, `!bob`},
		{"/api/executions?q=" + id, 200, `!bob`},
		{"/api/executions?limit=none", 422, `limit is \"none\": use 1 to 1000`},
		{"/api/executions?since=yesterday", 422, "2026-01-31T12:00:00Z"},
		{"/api/executions/" + id, 200, `"code":"const key = '[redacted]'"`},
		{"/api/executions/" + id, 200, `!hunter2`},
		{"/api/executions/none", 404, "pruned"},
		{"/api/calls?tool=push", 200, `"client":"ann"`},
		{"/api/calls?status=ok", 200, `!push`},
		{"/api/calls?format=csv", 200, `,git,push,,,error,0.000,0,0,'=1+1`},
		{"/api/calls?format=jsonl&limit=1", 200, `"tool":"push"`},
		{"/api/calls?format=jsonl&limit=1", 200, `!onerror`},
		{"/api/calls?format=xml", 422, "jsonl or csv"},
		{"/api/events", 200, `"kind":"result_drift"`},
		{"/api/stats", 200, `"bytes_kept":1980`},
		{"/api/stats?since=" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339), 200, `"executions":0`},
		{"/api/approvals", 200, `{"runs":[]}`},
		{"/api/runs/none", 404, "kept for a week"},
		{"/api/pins", 200, `{"pins":[]}`},
		{"/api/manifest", 200, `[]`},
	} {
		status, text := v.ask(http.MethodGet, tt.path, "")
		without, absent := strings.CutPrefix(tt.want, "!")
		if status != tt.status || strings.Contains(text, without) == absent {
			t.Errorf("%s: %d %s; want %d and %q", tt.path, status, text, tt.status, tt.want)
		}
	}
}

func TestOnlyWhatWasShownIsApproved(t *testing.T) {
	v := newView(t)
	run := state.Run{ID: state.NewRunID(), Principal: state.Local, Code: "x", Started: time.Now()}
	j := v.runs.Begin(run)
	for n := 1; n <= 2; n++ {
		c := state.RunCall{Ordinal: n, Func: "call", Tool: "git__push", Args: json.RawMessage(fmt.Sprintf(`{"n":%d,"token":"ghp_abcdefghijklmnopqrstuvwxyz0123456789"}`, n)), Class: "write", State: state.RunAsked, Why: "writes", Made: time.Now()}
		if err := j.Record(c, true); err != nil {
			t.Fatal(err)
		}
	}
	run.Status, run.Expires = state.StatusWaiting, time.Now().Add(time.Hour)
	if err := j.End(run); err != nil {
		t.Fatal(err)
	}
	if _, text := v.ask(http.MethodGet, "/api/approvals", ""); !strings.Contains(text, run.ID) {
		t.Fatalf("approvals: %s", text)
	}
	_, text := v.ask(http.MethodGet, "/api/runs/"+run.ID, "")
	var shown Run
	if err := json.Unmarshal([]byte(text), &shown); err != nil || len(shown.Calls) != 2 || shown.Calls[0].Digest == "" || strings.Contains(text, "ghp_") {
		t.Fatalf("%v: %s", err, text)
	}
	decide := func(approve bool, n int, digest string) (int, string) {
		return v.ask(http.MethodPost, "/api/runs/"+run.ID+"/decide", fmt.Sprintf(`{"approve": %v, "calls": [%d], "digests": [%q], "reason": "%s"}`, approve, n, digest, map[bool]string{false: `not\ntoday`}[approve]))
	}
	for _, tt := range []struct {
		approve bool
		n       int
		digest  string
		status  int
		states  string
	}{
		{true, 1, shown.Calls[1].Digest, 409, "asked asked"},
		{true, 1, shown.Calls[0].Digest, 200, "approved asked"},
		{true, 1, shown.Calls[0].Digest, 409, "approved asked"},
		{false, 2, shown.Calls[1].Digest, 200, "approved failed"},
	} {
		status, text := decide(tt.approve, tt.n, tt.digest)
		now, err := v.read.Run(context.Background(), run.ID, false)
		if states := now.Calls[0].State + " " + now.Calls[1].State; err != nil || status != tt.status || states != tt.states {
			t.Errorf("decide %v on %d: %d %s, then %s, %v; want %d and %s", tt.approve, tt.n, status, text, states, err, tt.status, tt.states)
		}
	}
	if got := v.decided(run.ID); len(got) != 2 || !slices.Contains(got, "the console: approved 1 git__push") || !slices.Contains(got, "the console: denied 2 git__push: not today") {
		t.Errorf("the record says %q", got)
	}
}

// A script is saved by who may change things, and the record says who that was.
func TestSavedScripts(t *testing.T) {
	v := newView(t)
	const path = "/api/scripts"
	for _, tt := range []struct {
		in, may     bool
		token, body string
		status      int
		want        string
	}{
		{true, true, "", `{"name": "stale", "code": "return 1"}`, 200, `"name":"stale"`},
		{true, true, "", `{"name": "../../x", "code": "return 1"}`, 422, "cannot name a script"},
		{true, true, "", `{"name": "x\u001b[2J", "code": "return 1"}`, 422, `x\\x1b[2J`},
		{true, true, "", `{"name": "big", "code": "` + strings.Repeat("x", 1<<20) + `"}`, 413, "too_large"},
		{true, false, "", `{"name": "shown", "code": "return 1"}`, 403, "read_only"},
		{false, false, "", `{"name": "nobody", "code": "return 1"}`, 403, "no_session"},
		{false, false, admin, `{"name": "fromCI", "code": "return 1"}`, 200, `"name":"fromCI"`},
	} {
		v.in, v.may, v.token = tt.in, tt.may, tt.token
		if status, text := v.ask(http.MethodPost, path, tt.body); status != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%.60s: %d %s, want %d and %s", tt.body, status, text, tt.status, tt.want)
		}
	}
	v.record("", "") // what was noted before is written then
	events, err := v.store.Events(t.Context(), time.Time{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var saved []string
	for _, e := range events {
		saved = append(saved, e.Kind+" "+e.Client+" "+e.Name)
	}
	if want := []string{state.EventScriptSaved + " admin fromCI", state.EventScriptSaved + " console stale"}; !slices.Equal(saved, want) {
		t.Errorf("the record says %q, want %q", saved, want)
	}
}

// decided are the events about a run.
func (v *view) decided(run string) (list []string) {
	v.t.Helper()
	v.record("", "") // what was noted before is written then
	events, err := v.store.Events(v.t.Context(), time.Time{}, 100)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == state.EventApproval && e.Name == run {
			list = append(list, e.Client+": "+e.Detail)
		}
	}
	return list
}

// A messages reads server-sent events.
type messages struct {
	lines *bufio.Scanner
	id    string
}

func (v *view) follow(ctx context.Context, last string) *messages {
	v.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.server.URL+"/api/stream", nil)
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", last)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { res.Body.Close() })
	return &messages{lines: bufio.NewScanner(res.Body)}
}

func (m *messages) next(t *testing.T) (n News) {
	t.Helper()
	for m.lines.Scan() {
		if id, ok := strings.CutPrefix(m.lines.Text(), "id: "); ok {
			m.id = id
		}
		if data, ok := strings.CutPrefix(m.lines.Text(), "data: "); ok {
			var raw struct {
				Calls  []struct{ Tool string }
				Missed bool
			}
			if err := json.Unmarshal([]byte(data), &raw); err != nil {
				t.Fatal(err)
			}
			n.Missed = raw.Missed
			for _, c := range raw.Calls {
				n.Calls = append(n.Calls, state.Call{Tool: c.Tool})
			}
			return n
		}
	}
	t.Fatalf("the stream ended: %v", m.lines.Err())
	return n
}

// A stream that is open when its session ends, ends too.
func TestStreamsEndWithTheirSession(t *testing.T) {
	v := newView(t)
	m := v.follow(t.Context(), "")
	m.next(t)
	v.ended.Store(true)
	for m.lines.Scan() { // until the server closes it
	}
	eventually.True(t, "nobody watches", func() bool { return !Watched() })
}

func TestStreamsResume(t *testing.T) {
	v := newView(t)
	v.record("ann", "1", state.Call{Server: "s", Tool: "before", Status: state.CallOK})
	ctx, cut := context.WithCancel(t.Context())
	m := v.follow(ctx, "")
	if n := m.next(t); len(n.Calls) > 0 {
		t.Fatalf("at first: %+v", n)
	}
	v.record("ann", "2", state.Call{Server: "s", Tool: "live", Status: state.CallOK})
	for n := m.next(t); len(n.Calls) == 0 || n.Calls[0].Tool != "live"; n = m.next(t) {
	}
	cut()
	eventually.True(t, "the stream ends with its page", func() bool { return !Watched() })
	v.record("ann", "3", state.Call{Server: "s", Tool: "missed", Status: state.CallOK})
	if n := v.follow(t.Context(), m.id).next(t); len(n.Calls) != 1 || n.Calls[0].Tool != "missed" {
		t.Errorf("after the cut: %+v", n)
	}
	for last, missed := range map[string]bool{"": false, m.id: false, "garbage": true, "-9223372036854775808--9223372036854775808-1": true, "9223372036854775807-1-1": true} {
		if n := v.follow(t.Context(), last).next(t); n.Missed != missed || missed && len(n.Calls) > 0 {
			t.Errorf("after %q: %+v", last, n)
		}
	}
}

// A long call is approved with the digest of its full form.
func TestWhatIsCutIsNotApproved(t *testing.T) {
	for name, args := range map[string]string{
		"a long text":  `{"s":"` + strings.Repeat("x", 5_000) + `THE END"}`,
		"many keys":    `{` + strings.Repeat(`"a":1,`, 1_000) + `"z":"THE END"}`,
		"wide letters": `{"s":"` + strings.Repeat("é", 1_500) + `THE END"}`,
		"a password":   `{"password":"` + strings.Repeat("x", 5_000) + `THE END"}`,
	} {
		v := newView(t)
		run := state.Run{ID: state.NewRunID(), Principal: state.Local, Code: "x", Started: time.Now()}
		j := v.runs.Begin(run)
		c := state.RunCall{Ordinal: 1, Func: "call", Tool: "git__push", Args: json.RawMessage(args), Class: "write", State: state.RunAsked, Why: "writes", Made: time.Now()}
		run.Status, run.Expires = state.StatusWaiting, time.Now().Add(time.Hour)
		if err := errors.Join(j.Record(c, true), j.End(run)); err != nil {
			t.Fatal(err)
		}
		show := func(query string) (call RunCall, text string) {
			var shown Run
			_, text = v.ask(http.MethodGet, "/api/runs/"+run.ID+query, "")
			if err := json.Unmarshal([]byte(text), &shown); err != nil || len(shown.Calls) != 1 {
				t.Fatalf("%s: %v: %s", name, err, text)
			}
			return shown.Calls[0], text
		}
		decide := func(approve bool, digest string) int {
			status, _ := v.ask(http.MethodPost, "/api/runs/"+run.ID+"/decide", fmt.Sprintf(`{"approve": %v, "calls": [1], "digests": [%q]}`, approve, digest))
			return status
		}
		cut, text := show("")
		if cut.Digest != "" || cut.Bytes < 3_000 || strings.Contains(text, "THE END") || len(text) > 8_000 {
			t.Errorf("%s: digest %q, %d bytes: %.200s", name, cut.Digest, cut.Bytes, text)
		}
		if status := decide(true, cut.Digest); status != http.StatusConflict {
			t.Errorf("%s: approved without being shown: %d", name, status)
		}
		whole, text := show("?whole=true")
		if whole.Digest == "" || whole.Bytes != 0 || !strings.Contains(text, "THE END") {
			t.Errorf("%s: digest %q, %d bytes: %.200s", name, whole.Digest, whole.Bytes, text)
		}
		if name == "a long text" {
			if status := decide(false, cut.Digest); status != http.StatusOK {
				t.Errorf("a call that is cut is not denied: %d", status)
			}
		} else if status := decide(true, whole.Digest); status != http.StatusOK {
			t.Errorf("%s: not approved when it was shown whole: %d", name, status)
		}
	}
}
