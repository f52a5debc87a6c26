package sandboxtest_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
)

func TestFakePassesTheSuite(t *testing.T) {
	sandboxtest.Run(t, func(*testing.T) sandbox.Runner { return sandboxtest.Fake(sandboxtest.SuiteProgram) }, sandboxtest.FakeTime)
}
