package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker/script"
	"github.com/mcpbroker/mcpbroker/broker/skill"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/state"
)

var (
	server    *postgrestest.Server
	serverErr error
)

func TestMain(m *testing.M) {
	if worker.IsChild() { // the binary of the test is its sandbox too
		worker.Main()
		return
	}
	postgrestest.Main(m, func(s *postgrestest.Server, err error) { server, serverErr = s, err })
}

// key returns the text of a key of one repeated digit.
func key(digit string) string { return strings.Repeat(digit, 2*state.KeyBytes) }

// options are those of a state directory of the test.
func options(t *testing.T, c config.Broker) StateOptions {
	t.Helper()
	return StateOptions{Dir: t.TempDir(), Config: c, Expand: func(s string) (string, error) {
		if strings.Contains(s, "${MISSING}") {
			return "", errors.New("MISSING is not set")
		}
		return s, nil
	}, Lookup: func(string) (string, bool) { return "", false }, Keyring: oauth.NoKeyring{}}
}

func openState(t *testing.T, o StateOptions) *State {
	t.Helper()
	st, err := OpenState(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if err := st.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return st
}

// A setting that cannot be followed is an error that names its key and no secret.
func TestOpenStateNamesTheKey(t *testing.T) {
	for want, c := range map[string]config.Broker{
		"state":     {State: "${MISSING}"},
		"state ":    {State: "postgres://u:secret@h:port/db"},
		"state  ":   {State: "postgres://u:secret@h/db?search_path=a,b"},
		"stateKey":  {StateKey: []string{"${MISSING}"}},
		"stateKey ": {State: "postgres://u:secret@h/db", StateKey: []string{key("a"), "secret"}},
		"objects":   {State: "postgres://u:secret@h/db", Objects: "${MISSING}"},
		"objects ":  {State: "postgres://u:secret@h/db", Objects: "ftp://secret"},
	} {
		st, err := OpenState(options(t, c))
		wrong, ok := errors.AsType[*KeyError](err)
		if st != nil || !ok || wrong.Key != strings.TrimSpace(want) || strings.Contains(err.Error(), "u:secret") {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// Opening a state creates no file.
func TestOpenStateCreatesNothing(t *testing.T) {
	for name, c := range map[string]config.Broker{
		"local":      {},
		"with a key": {StateKey: []string{key("a")}},
		"shared":     {State: "postgres://u:p@127.0.0.1:1/db", StateKey: []string{key("a")}},
	} {
		o := options(t, c)
		o.Serve = true
		st, err := OpenState(o)
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, _ = st.Vault(), st.SignIns(), st.Requests(), st.Scripts("")
		list, err := os.ReadDir(o.Dir)
		if err := errors.Join(err, st.Close()); len(list) != 0 || err != nil {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
}

// In a directory, a key seals what people connect and nothing else. Without one there
// is no store for that.
func TestLocalStateSealsPeople(t *testing.T) {
	o := options(t, config.Broker{})
	st := openState(t, o)
	if st.People != nil || st.Rekey != nil || st.Shared != nil || st.Lists != nil || st.Cancel != nil || st.ServerListings() != nil || st.Buckets() != nil {
		t.Errorf("a state for one broker is %+v", st)
	}
	o.Config.StateKey = []string{key("a")}
	sealed := openState(t, o)
	ctx := t.Context()
	for name, docs := range map[string]state.Documents{"people": sealed.People, "requests": sealed.Requests(), "api-tokens": sealed.APITokens()} {
		if err := docs.SetDocument(ctx, "n", []byte("planted")); err != nil {
			t.Fatal(err)
		}
		stored, err := st.Documents(name).Document(ctx, "n")
		if is := string(stored) != "planted"; is != (name == "people") || err != nil {
			t.Errorf("%s: sealed is %t, %v", name, is, err)
		}
		if _, err := os.Stat(filepath.Join(o.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	if sealed.Rekey != nil {
		t.Error("accounts in a directory would be sealed again")
	}
}

// The kinds of sealed documents stay, so that a database of an earlier broker is read.
func TestSharedStateHasTheKindsOfBefore(t *testing.T) {
	at := postgrestest.Need(t, server, serverErr).Address()
	clear := openState(t, options(t, config.Broker{State: at}))
	sealed := openState(t, options(t, config.Broker{State: at, StateKey: []string{key("a")}}))
	ctx := t.Context()
	for kind, stored := range map[string]string{
		"oauth": "oauth", "tokens": "tokens", "people": "people", "requests": "sealed-requests",
		skill.KindWorkflows: "sealed-workflows", skill.KindActivations: "sealed-activations",
		script.Kind: "", "skills": "", "api-tokens": "",
	} {
		if err := sealed.Documents(kind).SetDocument(ctx, "planted", []byte("planted")); err != nil {
			t.Fatal(err)
		}
		want := stored
		if want == "" {
			want = kind
		}
		text, err := clear.Documents(want).Document(ctx, "planted")
		if in := string(text) == "planted"; err != nil || in != (stored == "") {
			t.Errorf("%s is stored as %s in the clear: %t, %v", kind, want, in, err)
		}
	}
	if clear.Rekey != nil || clear.People != nil || !clear.Spools || clear.Verdicts != "" {
		t.Errorf("a shared state without a key is %+v", clear)
	}
	where, err := clear.Describe(ctx)
	if !strings.Contains(where, "without stateKey") || !strings.HasSuffix(where, "; caches in "+clear.Dir) || err != nil {
		t.Errorf("Describe = %q, %v", where, err)
	}

	second := openState(t, options(t, config.Broker{State: at, StateKey: []string{key("b"), key("a")}}))
	parts := map[string]int{}
	if err := second.Rekey(ctx, func(part string, r state.Rekeyed) { parts[part] += r.Sealed }); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"oauth": 1, "tokens": 1, "people": 1, "sealed-requests": 1, "sealed-workflows": 1, "sealed-activations": 1, "run": 0, "result": 0}
	if fmt.Sprint(parts) != fmt.Sprint(want) {
		t.Errorf("sealed again: %v, want %v", parts, want)
	}
	if _, err := sealed.People.Document(ctx, "planted"); !errors.Is(err, state.ErrSealed) {
		t.Errorf("the old key still opens accounts: %v", err)
	}
}

// Until switches are changed in the database, those of the file hold. Reading creates
// no tables.
func TestSwitchboardOfADatabase(t *testing.T) {
	at := postgrestest.Need(t, server, serverErr).Address()
	st, err := OpenState(options(t, config.Broker{State: at}))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	file := skills.SwitchFile(filepath.Join(t.TempDir(), "servers.state.json"))
	if err := os.WriteFile(string(file), []byte(`{"skills":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	board := st.Switchboard(file)
	read := func(want string) {
		t.Helper()
		if text, err := board.Read(); string(text) != want || err != nil {
			t.Errorf("Read = %s, %v; want %s", text, err, want)
		}
	}
	read(`{"skills":{}}`)
	before := board.Version()
	if prepared, err := st.Prepared(t.Context()); prepared || err != nil {
		t.Errorf("reading has created tables: %t, %v", prepared, err)
	}
	if err := board.Edit(func(text []byte) ([]byte, error) { return append(text, '\n'), nil }); err != nil {
		t.Fatal(err)
	}
	read("{\"skills\":{}}\n")
	if after := board.Version(); after == before || after == "" {
		t.Errorf("the version stays %q", after)
	}
	if text, err := os.ReadFile(string(file)); string(text) != `{"skills":{}}` || err != nil {
		t.Errorf("the file has become %s, %v", text, err)
	}
}

// A record is one that waits on this machine, or cannot.
type record struct {
	state.AuditStore
	away, full bool
	asked      *int
}

func (r record) Spool() (rows, bytes int64, away bool) { return 3, 400, r.away }

func (r record) Full() error {
	if r.full {
		return errors.New("full")
	}
	return nil
}

func (r record) Reached(context.Context) error {
	*r.asked++
	if r.away {
		return errors.New("away")
	}
	return nil
}

// While the database is away, executions and calls that change something are refused as
// the config says, and calls that read go on.
func TestRefuse(t *testing.T) {
	shared := &State{Spools: true}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody waits for a failover
	for _, c := range []struct {
		what         string
		r            record
		strict       bool
		class        policy.Class
		refused, off bool // off: another broker may do it
	}{
		{"all is well", record{}, false, policy.Write, false, false},
		{"an execution while it is away", record{away: true}, false, 0, false, false},
		{"a call that reads", record{away: true}, false, policy.Read, false, false},
		{"a call that writes", record{away: true}, false, policy.Write, true, false},
		{"an execution where that is refused", record{away: true}, true, 0, true, true},
		{"a call that reads where that is refused", record{away: true}, true, policy.Read, true, true},
		{"the spool is full", record{away: true, full: true}, false, policy.Read, true, true},
	} {
		c.r.asked = new(int)
		err := shared.Refuse(c.r, c.strict)(ctx, c.class)
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", c.what, err)
		}
		if TakesMore(c.r, c.strict) == c.off {
			t.Errorf("%s: takes more: %t", c.what, !c.off)
		}
		if asked := *c.r.asked > 0; asked != (c.strict && c.class == 0) {
			t.Errorf("%s: the database is asked: %t", c.what, asked)
		}
	}
	local := &State{}
	if local.Refuse(record{}, true) != nil || local.SpoolGauges(record{}) != nil || len(shared.SpoolGauges(record{})) != 2 {
		t.Error("a directory is treated like a database that may be away")
	}
}
