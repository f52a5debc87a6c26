package shared_test

import (
	"net"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/shared"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

var (
	server    *postgrestest.Server
	serverErr error
)

func TestMain(m *testing.M) {
	postgrestest.Main(m, func(s *postgrestest.Server, err error) { server, serverErr = s, err })
}

func open(t testing.TB, at string, o shared.Options) *shared.Backend {
	t.Helper()
	b, err := shared.Open(at, o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBackendSuite(t *testing.T) {
	statetest.Backends{
		New: func(t testing.TB) string { return postgrestest.Need(t, server, serverErr).Address() },
		Open: func(t testing.TB, at string) state.Backend {
			return open(t, at, shared.Options{SpoolDir: t.TempDir(), Serve: true})
		},
		Shared: true,
	}.Run(t)
}

// A command reaches the subscribers of brokers that serve, and hears nothing itself.
func TestCommandsSendNotices(t *testing.T) {
	at := postgrestest.Need(t, server, serverErr).Address()
	serving, command := open(t, at, shared.Options{Serve: true}), open(t, at, shared.Options{})
	defer serving.Close()
	defer command.Close()
	heard := make(chan string, 100)
	defer serving.Bus().Subscribe(state.TopicCancel, func(name string) { heard <- name })()
	defer command.Bus().Subscribe(state.TopicCancel, func(name string) { t.Errorf("a command hears of %q", name) })()
	if !command.Bus().Leads() {
		t.Error("a command waits for others to connect to servers")
	}
	for retry := time.NewTicker(20 * time.Millisecond); ; { // until the bus listens
		if err := command.Bus().Publish(t.Context(), state.TopicCancel, "e_1"); err != nil {
			t.Fatal(err)
		}
		select {
		case name := <-heard:
			if name == "e_1" {
				return
			}
		case <-retry.C:
		case <-t.Context().Done():
			t.Fatal("no notice arrives")
		}
	}
}

// Opening a state, and asking for its stores, connects to nothing.
func TestOpenConnectsToNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan struct{}, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came <- struct{}{}
			_ = c.Close()
		}
	}()
	b := open(t, "postgres://u:p@"+l.Addr().String()+"/db?sslmode=disable", shared.Options{SpoolDir: t.TempDir()})
	runs := b.Runs(state.RunOptions{Full: true})
	_, _, _, _, _ = b.Results(), b.Values(), b.Pins(), b.Documents("kind"), b.Bus()
	_, _, _ = b.Listings(), b.Buckets(), b.Replicas()
	if err := runs.Close(); err != nil {
		t.Error(err)
	}
	if n := len(came); n != 0 {
		t.Errorf("%d connections before anything is used", n)
	}
	if _, err := b.Prepared(t.Context()); err == nil {
		t.Error("Prepared does not fail while the database is away")
	}
	if len(came) == 0 {
		t.Error("nothing connects to the database")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	_ = l.Close()
	<-done
}
