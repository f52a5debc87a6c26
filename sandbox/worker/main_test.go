package worker

import (
	"os"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
)

// children are mains of children that only some systems have.
var children = make(map[string]func())

// The test binary is its own child, and with a further argument a child that
// misbehaves.
func TestMain(m *testing.M) {
	if IsChild() {
		if len(os.Args) > 2 && os.Args[2] != argProbe {
			if main := children[os.Args[2]]; main != nil {
				main()
			}
			misbehave(os.Args[2])
		}
		Main()
	}
	eventually.Overlap()
	os.Exit(m.Run())
}

func TestSuite(t *testing.T) {
	sandboxtest.Run(t, func(*testing.T) sandbox.Runner { return New(nil) }, sandboxtest.JavaScript, sandboxtest.Containment)
}

// Without spares, and with the program that has nothing but what scripts need.
func TestSuiteWithoutSpares(t *testing.T) {
	own, info := buildWorker(t)
	p := findProgram(own, info)
	sandboxtest.Run(t, func(*testing.T) sandbox.Runner { return New(&Options{Executable: p.path, Spares: -1}) })
}
