package inproc_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
)

func TestSuite(t *testing.T) {
	sandboxtest.Run(t, func(*testing.T) sandbox.Runner { return inproc.New() }, sandboxtest.JavaScript, sandboxtest.FakeTime)
}
