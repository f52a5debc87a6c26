package sandboxtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
)

// A fake runs a Go function in place of a program. The test of a real runner is
//
//	func TestSuite(t *testing.T) {
//		sandboxtest.Run(t, func(*testing.T) sandbox.Runner { return mine.New() }, sandboxtest.JavaScript)
//	}
func ExampleFake() {
	runner := sandboxtest.Fake(func(context.Context, *sandboxtest.Env) (json.RawMessage, error) {
		return json.RawMessage(`"whatever the code"`), nil
	})
	defer runner.Close()
	result, err := runner.Run(context.Background(), sandbox.Request{Code: "return 1"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(result.Value))
	// Output: "whatever the code"
}
