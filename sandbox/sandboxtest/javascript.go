package sandboxtest

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

func runJavaScript(t *testing.T, new func(*testing.T) sandbox.Runner) {}
func runContainment(t *testing.T, new func(*testing.T) sandbox.Runner) {}
