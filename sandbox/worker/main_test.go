package worker_test

import (
	"os"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

func TestMain(m *testing.M) {
	if worker.IsChild() {
		worker.Main()
	}
	os.Exit(m.Run())
}
