package inproc_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

func Example() {
	runner := inproc.New()
	defer runner.Close()
	result, err := runner.Run(context.Background(), sandbox.Request{Language: sandbox.JavaScript, Code: "return 6 * 7"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(result.Value))
	// Output: 42
}
