package postgres

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
	"github.com/mcpbroker/mcpbroker/state"
)

// listen returns a bus that is closed with the test.
func listen(t *testing.T, d *Database) *Bus {
	t.Helper()
	b := d.Bus()
	t.Cleanup(func() { b.Close() })
	eventually.True(t, "the bus leads", b.Leads)
	return b
}

func pinned(digest string) func(map[state.PinName]state.Pin) error {
	return func(m map[state.PinName]state.Pin) error {
		m[state.PinName{Name: "log"}] = state.Pin{Digest: digest}
		return nil
	}
}

// Pins in memory follow those of the database, and are there while it is away. After
// that nothing is missed that happened meanwhile.
func TestPinsFollowTheBus(t *testing.T) {
	t.Parallel() // with a server of its own, for which it waits
	own, err := postgrestest.Start()
	own = postgrestest.Need(t, own, err)
	t.Cleanup(func() { own.Stop() })
	at := own.Address()
	d := connect(t, at)
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := listen(t, d)
	mine, others := b.Pins(), connect(t, at).Pins()
	digest := func() string {
		pins, err := mine.Pins(t.Context(), "git")
		if err != nil {
			t.Error(err)
		}
		return pins[state.PinName{Name: "log"}].Digest
	}
	change := func(p Pins, to string) {
		t.Helper()
		if err := p.ChangePins(t.Context(), "git", pinned(to)); err != nil {
			t.Fatal(err)
		}
	}
	change(mine, "1")
	if digest() != "1" {
		t.Error("what this broker has pinned is not there at once")
	}
	version := mine.PinsVersion(t.Context(), "git")
	change(others, "2")
	eventually.True(t, "a change of another broker is seen", func() bool { return digest() == "2" })
	if v := mine.PinsVersion(t.Context(), "git"); v == version {
		t.Errorf("version %q is the same after a change", v)
	}
	if err := own.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the bus notices", func() bool { return !b.Leads() })
	if digest() != "2" || mine.PinsVersion(t.Context(), "") == "" {
		t.Error("pins are gone with the server")
	}
	if err := own.Run(); err != nil {
		t.Fatal(err)
	}
	change(others, "3")
	eventually.True(t, "a change after the gap is seen", func() bool { return digest() == "3" })
}

func TestChangedDocumentsAreHeardOf(t *testing.T) {
	at := address(t)
	b, docs := listen(t, connect(t, at)), connect(t, at).Documents("skills")
	heard := make(chan string, 10)
	defer b.Subscribe(state.TopicDocuments, func(name string) { heard <- name })()
	for _, body := range [][]byte{[]byte("1"), nil} {
		if err := docs.SetDocument(t.Context(), "switches", body); err != nil {
			t.Fatal(err)
		}
		if got := <-heard; got != "skills/switches" {
			t.Errorf("heard of %q", got)
		}
	}
}
