package worker_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// A loop without end is killed when its time is up. The program's main calls
// worker.Main where worker.IsChild.
func Example() {
	runner := worker.New(nil)
	defer runner.Close()
	result, err := runner.Run(context.Background(), sandbox.Request{
		Language: sandbox.JavaScript, Code: "for (;;) {}", Limits: sandbox.Limits{Timeout: 100 * time.Millisecond},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.ExitCode == sandbox.ExitTimeout)
	// Output: true
}
