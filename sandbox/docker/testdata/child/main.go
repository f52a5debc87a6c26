// The program whose static binary the tests put into an image: it runs programs
// like broker does, and is quicker to build.
package main

import (
	"os"

	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

func main() {
	if worker.IsChild() {
		worker.Main()
	}
	os.Exit(1)
}
