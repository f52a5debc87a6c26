package accounts_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/postgres"
)

// Three brokers on one database: what is connected at one is at all, a sign-in may
// end at another one, a stale token is renewed once, calls are never crossed, and
// who disconnects is out everywhere.
func TestReplicasShareAccounts(t *testing.T) {
	server, err := postgrestest.Start()
	server = postgrestest.Need(t, server, err)
	t.Cleanup(func() { _ = server.Stop() })
	key, address := state.NewKey(), server.Address()
	remote := startRemote(t)
	remote.Set(func(b *fakeauth.Behaviour) { b.Lifetime = time.Second }) // too short to be used
	var all []*replica
	for range 3 {
		db, err := postgres.Connect(address, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := db.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = append(all, start(t, seal(t, db.Documents("people"), key), []config.Server{remoteServer("crm", remote)}, nil))
	}
	people := []*upstream.Person{ann, bob}
	for i, p := range people {
		newBrowser(t, p.Name+"-at-crm").connect(all[i], all[i].link(p, "crm"), "crm")
	}
	remote.Set(func(b *fakeauth.Behaviour) { b.Lifetime = time.Hour })
	before := remote.Counts()
	var wg sync.WaitGroup
	for i := range 1000 {
		r, p := all[i%3], people[i%2]
		wg.Go(func() { r.want(p, "crm", p.Name+"-at-crm") })
	}
	wg.Wait()
	if c := remote.Counts(); c.Refreshed-before.Refreshed != 2 || c.Reused != 0 {
		t.Errorf("counts = %+v, before %+v, want one renewal for each person", c, before)
	}
	dump, err := server.Dump()
	if err != nil || !strings.Contains(dump, "person-") || strings.Contains(dump, fakeauth.Secret) || strings.Contains(dump, ann.Issuer) {
		t.Errorf("the dump has a secret, or nothing: %v", err)
	}
	b := newBrowser(t, "ann-at-crm")
	remote.Forget(true) // so that ann gets another page
	b.connect(all[2], all[2].link(ann, "crm"), "crm")
	if status, page := b.post(all[2].base+"/connect/crm", all[2].base, map[string][]string{"do": {"disconnect"}}); status != 200 || !strings.Contains(page, "Disconnected") {
		t.Fatalf("%d %s", status, page)
	}
	for i, r := range all {
		if got, err := r.whoami(ann, "crm"); err == nil {
			t.Errorf("broker %d calls for ann, who has disconnected: %s", i, got)
		}
	}
	if !slices.ContainsFunc(all[2].events, func(e state.Event) bool { return e.Kind == state.EventLogout && e.Client == "ann" }) {
		t.Errorf("events = %+v", all[2].events)
	}
}
