package postgres

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
	"github.com/mcpbroker/mcpbroker/state"
)

// Replicas are known while they live, whatever ends them, and come back after the
// server was away.
func TestReplicas(t *testing.T) {
	t.Parallel() // with a server of its own, for which it waits
	s, err := postgrestest.Start()
	s = postgrestest.Need(t, s, err)
	t.Cleanup(func() { _ = s.Stop() })
	at := s.Address()
	one, two := connect(t, at), connect(t, at)
	if err := one.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	join := func(d *Database, name, address string) (leave func()) {
		t.Helper()
		leave, err := d.Replicas().Join(t.Context(), state.Replica{Name: name, Address: address, Certificate: []byte(name)})
		if err != nil {
			t.Fatal(err)
		}
		return leave
	}
	living := func() (names []string) {
		all, err := two.Replicas().Living(t.Context())
		if err != nil {
			return []string{err.Error()}
		}
		for _, r := range all {
			names = append(names, fmt.Sprint(r.Name, " ", r.Address, " ", string(r.Certificate)))
		}
		slices.Sort(names)
		return names
	}
	is := func(when string, want ...string) {
		t.Helper()
		eventually.True(t, fmt.Sprintf("%s there are %q", when, want), func() bool { return slices.Equal(living(), want) })
	}
	leaveA, leaveB := join(one, "a", "a:1"), join(two, "b", "b:1")
	is("after two have joined", "a a:1 a", "b b:1 b")
	leaveB2 := join(two, "b", "b:2")
	is("after another has taken a name", "a a:1 a", "b b:2 b")
	leaveB()
	is("after the earlier one of a name has left", "a a:1 a", "b b:2 b")
	if _, err := two.db.ExecContext(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_locks l, replicas r WHERE r.name = 'a' AND l.locktype = 'advisory' AND (l.classid::bigint << 32 | l.objid::bigint) = r.lock"); err != nil {
		t.Fatal(err)
	}
	is("after a session was lost", "a a:1 a", "b b:2 b")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	is("after the server was away", "a a:1 a", "b b:2 b")
	leaveA()
	leaveA()
	is("after one has left", "b b:2 b")
	leaveB2()
	is("after all have left")
}
