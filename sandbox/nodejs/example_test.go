package nodejs_test

import (
	"context"
	"fmt"

	"github.com/mcpbroker/mcpbroker/sandbox/nodejs"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

func ExampleBundled() {
	b, _, err := nodejs.Bundled(context.Background(), script.Program{Code: "const x: number = 20; x + 1"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(b.File, b.Implicit)
	// Output: agent.ts true
}
