package setup

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// Each server that needs something is listed once, whatever it needs and however many
// clients have it.
func TestTodo(t *testing.T) {
	t.Setenv("BROKER_DAEMON", "off")
	path := filepath.Join(t.TempDir(), "servers.json")
	text := `{"mcpServers": {"works": {"command": "a"}, "fails": {"command": "b"}, "slow": {"command": "c"}, "signs": {"url": "https://signs"}, "pinned": {"command": "d"}, "old fails": {"command": "e"}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	i := initRun{setup: &Setup{IO: &cli.IO{In: strings.NewReader(""), Err: io.Discard}, ConfigPath: path, Lookup: os.LookupEnv, StartDaemon: func(context.Context) bool { return false }}, out: io.Discard, stuck: map[string]api.IndexRow{}, waited: 45 * time.Second,
		connected: map[string]*clients.Client{"/cursor": clients.Lookup("cursor"), "/codex": clients.Lookup("codex")},
		index: &api.IndexReport{Servers: []api.IndexRow{
			{Name: "works", Status: "ready", Tools: 2}, {Name: "fails", Status: string(upstream.StateFailed), Error: "no\nlicense"},
			{Name: "slow", Status: string(upstream.StateStarting), Doing: "installing a package"}, {Name: "signs", Status: string(upstream.StateNeedsSignIn), Error: "401"},
			{Name: "pinned", Status: "ready", Held: 3}, {Name: "old fails", Status: string(upstream.StateFailed), Error: "gone"},
		}}}
	i.plan.path = path
	i.plan.outcomes = []clients.Outcome{
		{Name: "works", From: "/cursor", Action: clients.Added}, {Name: "fails", From: "/cursor", Action: clients.Added, Needs: []string{"PATH", "NOT_SET_1", "NOT_SET_2"}},
		{Name: "slow", From: "/cursor", Action: clients.Added}, {Name: "fails", From: "/codex", Action: clients.Same, Needs: []string{"NOT_SET_1"}},
		{Name: "mine", As: "slow", From: "/codex", Action: clients.Same}, {Name: "signs", From: "/declined", Action: clients.Added},
		{Name: "pinned", From: "/cursor", Action: clients.Added}, {Name: "old fails", From: "/cursor", Dir: "/p", Action: clients.Same},
		{Name: "other", From: "/codex", Action: clients.Conflict}, {Name: "off", From: "/codex", Action: clients.Same, Disabled: true},
	}
	if err := i.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []task{
		{"fails", "NOT_SET_1, NOT_SET_2 are not set here; set them where the broker starts", []string{"Cursor", "Codex"},
			[]string{"broker servers test fails", "broker install cursor --move --server fails", "broker install codex --move --server fails"}},
		{"slow", "still installing a package after 45 s, when this command ended it: no daemon runs here", []string{"Cursor", "Codex"},
			[]string{"broker index", "broker install cursor --move --server slow", "broker install codex --move --server mine"}},
		{"signs", "it needs a sign-in", nil, []string{"broker auth login signs"}},
		{"pinned", "3 tools held back until you have seen what changed", nil, []string{"broker pins diff pinned"}},
		{"old fails", "gone", []string{"Cursor"}, []string{"broker servers test 'old fails'", "broker install cursor --move --projects --server 'old fails'"}},
		{"off", "it is disabled in " + path, []string{"Codex"}, []string{"broker servers test off", "broker install codex --move --server off"}},
	}
	if diff := cmp.Diff(want, i.tasks()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cfg, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var off []string
	for _, s := range cfg.Servers {
		if s.Disabled {
			off = append(off, s.Name)
		}
	}
	if !slices.Equal(off, []string{"fails"}) { // what was there before stays as it was
		t.Errorf("disabled are %q", off)
	}
}

// A variable that is not set here is needed once, whatever has it.
func TestUnset(t *testing.T) {
	lookup := func(name string) (string, bool) { return "", name == "SET" || name == "EMPTY" }
	for _, tt := range []struct {
		needs [][]string
		want  []string
	}{
		{nil, []string{}},
		{[][]string{{"SET", "EMPTY"}}, []string{}},
		{[][]string{{"A", "SET", "B"}, {"B", "A", "C"}}, []string{"A", "B", "C"}},
	} {
		var outcomes []clients.Outcome
		for _, n := range tt.needs {
			outcomes = append(outcomes, clients.Outcome{Needs: n})
		}
		if got := unset(lookup, outcomes); !slices.Equal(got, tt.want) {
			t.Errorf("%q: unset are %q, want %q", tt.needs, got, tt.want)
		}
	}
}
