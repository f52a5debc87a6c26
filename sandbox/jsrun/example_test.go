package jsrun_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/jsrun"
)

// A host answers the calls of a program, and gets what it prints.
type printer struct{}

func (printer) Call(c sandbox.Call, done func(json.RawMessage, error)) { done(c.Args, nil) }
func (printer) Output(_ int, b []byte)                                 { fmt.Printf("%s", b) }
func (printer) Refuse(sandbox.Call) error                              { return nil }
func (printer) Replayed(int)                                           {}

func Example() {
	end := jsrun.Run(context.Background(), jsrun.Program{
		Language: sandbox.TypeScript,
		Code:     "const n: number = 2; console.log(new Map([['n', n]])); return n",
	}, printer{})
	fmt.Println(string(end.Value))
	// Output:
	// Map(1) { 'n' => 2 }
	// 2
}
