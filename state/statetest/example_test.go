package statetest_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

// A test runs a suite on an implementation: it says how a new place is made, and how
// one is opened, any number of times.
func ExampleDocuments() {
	_ = func(t *testing.T) {
		statetest.Documents{
			New:  func(t testing.TB) string { return t.TempDir() },
			Open: func(_ testing.TB, dir string) state.Documents { return files.OpenDocuments(dir) },
		}.Run(t)
	}
}
