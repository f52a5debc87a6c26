package broker_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// quoted is a broker with quotas over HTTP, for the tokens secret-ann and secret-bob of
// one team and secret-ci of another with the profile ci, and its record.
func quoted(t *testing.T, d broker.Deps, s broker.Settings, rules ...*quota.Rule) (token func(string) func(tool string, args any) (string, bool), record state.Audit) {
	t.Helper()
	store, err := sqlite.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	limiter := quota.New(rules, nil, nil)
	t.Cleanup(func() { limiter.Close() })
	s.Servers = []upstream.Config{upstreamConfig(t, "files"), upstreamConfig(t, "notes")}
	d.Quota, d.Audit = limiter, store
	s.Profiles = map[string]policy.Profile{"ci": {Name: "ci", Servers: []string{"*"}, Allow: []string{"*"}}}
	b := newBroker(t, d, s)
	t.Cleanup(func() { store.Close() })
	b.Refresh(t.Context())
	h, err := b.Handler(broker.HTTPOptions{
		Addr: "127.0.0.1:0", Tokens: map[string]string{"ann": "secret-ann", "bob": "secret-bob", "ci": "secret-ci"},
		Limits: map[string]broker.TokenLimits{"ann": {Team: "work"}, "bob": {Team: "work"}, "ci": {Profile: "ci"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return func(name string) func(string, any) (string, bool) {
		cs, err := dial(t, srv.URL+"/mcp", "secret-"+name, "2025-11-25")
		if err != nil {
			t.Fatal(err)
		}
		return func(tool string, args any) (string, bool) { return call(t, cs, tool, args) }
	}, store
}

func hourly(n int, per ...quota.Dimension) *quota.Rule {
	return &quota.Rule{Per: per, Amount: n, Every: time.Hour, Burst: n, Where: "servers.json:4:7"}
}

// threeCalls counts those of three calls that are made, and shows how another fails.
const threeCalls = `
	const seen = [];
	for (let i = 0; i < 3; i++) {
		try { await callMCPTool('files__read_file', {path: 'a'}); seen.push('ok'); }
		catch (e) { seen.push([e.code, e.retryable, e.hint, e.message]); }
	}
	return seen`

func TestCallsOverAQuota(t *testing.T) {
	client, record := quoted(t, broker.Deps{}, broker.Settings{}, hourly(2, quota.User))
	ann := client("ann")
	text, failed := ann("execute_code", map[string]any{"code": threeCalls})
	if want := `"result":["ok","ok",["quota_exceeded",true,"try again in 1800 s, with fewer calls","files__read_file: the quota of 2 calls per user in 1h is spent"]]`; failed || !strings.Contains(text, want) {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if text, _ := client("bob")("execute_code", map[string]any{"code": threeCalls}); !strings.Contains(text, `"result":["ok","ok",["quota`) {
		t.Errorf("another user: %s", text)
	}
	list, err := record.List(t.Context(), state.Filter{})
	if err != nil || len(list) == 0 {
		t.Fatal(err)
	}
	_, calls, err := record.Show(t.Context(), list[len(list)-1].ID)
	if err != nil || len(calls) != 3 || calls[2].Status != state.CallDenied || calls[2].Decision != "deny quota servers.json:4:7" {
		t.Errorf("recorded %+v, %v", calls, err)
	}
}

func TestQuotasOfTeamsAndProfiles(t *testing.T) {
	ci := hourly(2)
	ci.Profile = "ci"
	client, _ := quoted(t, broker.Deps{}, broker.Settings{}, hourly(4, quota.Team), ci)
	for _, c := range []struct{ name, want string }{
		{"ann", `"result":["ok","ok","ok"]`},
		{"bob", `"result":["ok",["quota_exceeded"`}, // what ann has left of their team
		{"ci", `"result":["ok","ok",["quota_exceeded"`},
	} {
		if text, _ := client(c.name)("execute_code", map[string]any{"code": threeCalls}); !strings.Contains(text, c.want) {
			t.Errorf("%s got %s, want %s", c.name, text, c.want)
		}
	}
}

func TestExecutionsOverAQuota(t *testing.T) {
	r := hourly(1, quota.User)
	r.Executions = true
	client, record := quoted(t, broker.Deps{}, broker.Settings{}, r)
	ann := client("ann")
	if text, failed := ann("execute_code", map[string]any{"code": "return 1"}); failed {
		t.Error(text)
	}
	text, failed := ann("execute_code", map[string]any{"code": "return 1"})
	if !failed || !strings.Contains(text, `"exit_code":2`) || !strings.Contains(text, "the quota of 1 execution per user in 1h is spent: try again in 3600 s") || !strings.Contains(text, "0 tools called") {
		t.Errorf("%v %s", failed, text)
	}
	if list, err := record.List(t.Context(), state.Filter{}); err != nil || len(list) != 2 || list[0].Status != state.StatusRefused {
		t.Errorf("recorded %+v, %v", list, err)
	}
}
