package attack_test

import (
	"context"
	"fmt"

	"github.com/mcpbroker/mcpbroker/sandbox/attack"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// What hostile programs can do to the default runner.
func ExampleRun() {
	runner := worker.New(nil)
	defer runner.Close()
	report := attack.Run(context.Background(), runner, attack.Options{})
	for _, o := range report.Outcomes {
		if !o.Contained {
			fmt.Printf("%s: %s\n", o.Name, o.Problem)
		}
	}
}
