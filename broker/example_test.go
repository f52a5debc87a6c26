package broker_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// A program with a broker of its own. Its main lets the worker in first, since the
// scripts run in children of this program where broker-worker is not installed:
//
//	if worker.IsChild() {
//		worker.Main()
//	}
func Example() {
	b, err := broker.New(broker.Deps{Runner: worker.New(nil)}, broker.Settings{
		Servers: nil, // those of your configuration
	})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	ctx := context.Background()
	b.Start(ctx)

	answer := b.Execute(ctx, broker.ExecuteRequest{Client: "me", Code: "return [1, 2, 3].map((n) => n * n)"})
	fmt.Println(answer.ExitCode, string(answer.Result))
	// Output: 0 [1,4,9]
}
