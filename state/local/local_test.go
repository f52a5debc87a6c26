package local_test

import (
	"os"
	"testing"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/local"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

func TestBackendSuite(t *testing.T) {
	statetest.Backends{
		New:  func(t testing.TB) string { return t.TempDir() },
		Open: func(_ testing.TB, at string) state.Backend { return local.Open(at, nil) },
	}.Run(t)
}

// Opening a state, and asking for its stores, creates no file.
func TestOpenCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	b := local.Open(dir, nil)
	runs := b.Runs(state.RunOptions{Full: true})
	_, _, _, _, _ = b.Results(), b.Values(), b.Pins(), b.Documents("kind"), b.Bus()
	if err := runs.Close(); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(dir); len(list) != 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
}
