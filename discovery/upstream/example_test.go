package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// The first call starts the server, and Close ends its process.
func ExamplePool() {
	pool := upstream.NewPool([]upstream.Config{{
		Name: "demo", Command: fakeupstream.Command(), Args: fakeupstream.Args(fakeupstream.Good),
	}}, nil)
	defer pool.Close()
	result, err := pool.Call(context.Background(), "demo", "add", json.RawMessage(`{"a":2,"b":3}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var answer struct {
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(answer.StructuredContent))
	// Output:
	// {"sum":5}
}
