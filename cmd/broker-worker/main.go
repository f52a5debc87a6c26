// Command broker-worker runs one script for broker, which starts it, and ends. It
// is what broker starts itself again for where it does not find this program
// beside it, without the rest of broker: it starts in about half the time,
// and has no code that a script could misuse.
package main

import (
	"fmt"
	"os"

	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

func main() {
	if !worker.IsChild() {
		fmt.Fprintln(os.Stderr, "broker-worker: broker starts this program, for scripts; there is nothing to run by hand")
		os.Exit(2)
	}
	worker.Main()
}
