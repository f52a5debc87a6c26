package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

// A program calls its host, imports a module and prints.
func ExampleRunner() {
	runner := inproc.New()
	defer runner.Close()
	result, err := runner.Run(context.Background(), sandbox.Request{
		Code: "import { twice } from './numbers';\nconsole.log(await callMCPTool('clock__now', {}));\nreturn twice(21)",
		Modules: []sandbox.Module{
			{Path: "numbers", Source: "export const twice = (n: number) => 2 * n", Exports: []string{"twice"}},
		},
		Call: func(_ context.Context, c sandbox.Call) (json.RawMessage, error) {
			return json.Marshal("answer of " + c.Target)
		},
		Stdout: os.Stdout,
		Limits: sandbox.Limits{Timeout: 10 * time.Second},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.ExitCode, string(result.Value))
	// Output:
	// answer of clock__now
	// 0 42
}
