package selftest

import (
	"os"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

func TestMain(m *testing.M) {
	if worker.IsChild() { // a sandbox of a test is this binary, started again
		worker.Main()
		return
	}
	os.Exit(m.Run())
}
