package postgres

import (
	"context"
	"os"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/statetest"
	"github.com/mcpbroker/mcpbroker/state/tables"
)

var (
	server    *postgrestest.Server
	serverErr error
)

func TestMain(m *testing.M) {
	if !statetest.IsChild() {
		server, serverErr = postgrestest.Start()
	}
	code := audits.Play(m)
	if server != nil {
		server.Stop()
	}
	os.Exit(code)
}

// address is that of an empty schema with all tables.
func address(t testing.TB) string {
	t.Helper()
	at := postgrestest.Need(t, server, serverErr).Address()
	if err := connect(t, at).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return at
}

func connect(t testing.TB, at string) *Database {
	t.Helper()
	d, err := Connect(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d
}

// A record closes its database too.
type record struct {
	*tables.Store
	d *Database
}

func (r record) Close() error {
	err := r.Store.Close()
	r.d.Close()
	return err
}

var audits = statetest.Audits{
	New: func(t testing.TB) string { return address(t) },
	Open: func(at string, keep state.Keep) (state.Audit, error) {
		d, err := Connect(at, nil)
		if err != nil {
			return nil, err
		}
		s, err := d.Record(context.Background(), &Options{NoCode: !keep.Code, Payloads: keep.Payloads})
		return record{s, d}, err
	},
}

func TestAuditSuite(t *testing.T) { audits.Run(t) }

type journals struct {
	statetest.RunStore
	d *Database
}

func (j journals) Close() error {
	err := j.RunStore.Close()
	j.d.Close()
	return err
}

func TestRunsSuite(t *testing.T) {
	key, err := state.Seal(nil, state.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	for name, sealed := range map[string]*state.Sealed{"clear": nil, "sealed": key} {
		t.Run(name, func(t *testing.T) {
			statetest.Runs{
				New: func(t testing.TB) string { return address(t) },
				Open: func(at string) (statetest.RunStore, error) {
					d, err := Connect(at, nil)
					if err != nil {
						return nil, err
					}
					r := d.Runs()
					r.Sealed = sealed
					return journals{r, d}, nil
				},
			}.Run(t)
		})
	}
}

func TestPinsSuite(t *testing.T) {
	statetest.Pins{
		New:  func(t testing.TB) string { return address(t) },
		Open: func(t testing.TB, at string) state.Pins { return connect(t, at).Pins() },
	}.Run(t)
}

func TestDocumentsSuite(t *testing.T) {
	statetest.Documents{
		New:  func(t testing.TB) string { return address(t) },
		Open: func(t testing.TB, at string) state.Documents { return connect(t, at).Documents("test") },
	}.Run(t)
}

func TestKeptSuite(t *testing.T) {
	statetest.Kept{
		New: func(t testing.TB) string { return address(t) },
		Open: func(t testing.TB, at string, l state.Limits) (state.Results, state.Values) {
			k := connect(t, at).Kept(&l)
			return k, k
		},
	}.Run(t)
}

func TestBucketsSuite(t *testing.T) {
	statetest.Buckets{Open: func(t testing.TB) func() state.Buckets {
		at := address(t)
		return func() state.Buckets { return connect(t, at).Buckets() }
	}}.Run(t)
}

func TestBusSuite(t *testing.T) {
	statetest.Buses{
		New: func(t testing.TB) string { return address(t) },
		Open: func(t testing.TB, at string) (state.Bus, state.Listings, func()) {
			d := connect(t, at)
			b := d.Bus()
			t.Cleanup(func() { b.Close() })
			return b, d.Listings(), func() { b.Close() }
		},
	}.Run(t)
}
