package main

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
)

// database is the server that tests share.
var database struct {
	start  sync.Once
	server *postgrestest.Server
	err    error
}

// sharedDatabase returns a server that ends with the last test. Each address of it is
// that of another schema.
func sharedDatabase(t testing.TB) *postgrestest.Server {
	t.Helper()
	database.start.Do(func() { database.server, database.err = postgrestest.Start() })
	return postgrestest.Need(t, database.server, database.err)
}

// stopSharedDatabase ends the server, if a test has started it.
func stopSharedDatabase() {
	if database.server == nil {
		return
	}
	if err := database.server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// Brokers that share a database.
func TestPostgresScripts(t *testing.T) {
	t.Parallel()
	s, err := postgrestest.Start()
	s = postgrestest.Need(t, s, err)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	testscript.Run(t, testscript.Params{
		Dir: "testdata/postgres", ContinueOnError: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitCode,
			"dump": func(ts *testscript.TestScript, _ bool, _ []string) {
				text, err := s.Dump()
				ts.Check(err)
				fmt.Fprint(ts.Stdout(), text)
			},
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/config")
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/state")
			e.Setenv("BROKER_KEYRING", "off") // not that of whoever runs the tests
			e.Setenv("DATABASE", s.Address())
			remote := fakeauth.Start()
			e.Defer(remote.Close)
			e.Setenv("REMOTE_URL", remote.URL)
			return nil
		},
	})
}
