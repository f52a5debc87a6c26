package worker

import (
	"os"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
)

// children are mains of children that only some systems have.
var children = make(map[string]func())

// The test binary is its own child, and with a further argument a child that
// misbehaves.
func TestMain(m *testing.M) {
	if IsChild() {
		if len(os.Args) > 2 {
			if main := children[os.Args[2]]; main != nil {
				main()
			}
			misbehave(os.Args[2])
		}
		Main()
	}
	os.Exit(m.Run())
}

func TestSuite(t *testing.T) {
	for name, opts := range map[string]*Options{"one spare": nil, "no spare": {Spares: -1}} {
		t.Run(name, func(t *testing.T) {
			features := []sandboxtest.Feature{sandboxtest.JavaScript}
			if opts == nil {
				features = append(features, sandboxtest.Containment)
			}
			sandboxtest.Run(t, func(*testing.T) sandbox.Runner { return New(opts) }, features...)
		})
	}
}
