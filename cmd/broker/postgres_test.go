package main

import (
	"fmt"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
)

// Brokers that share a database.
func TestPostgresScripts(t *testing.T) {
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
