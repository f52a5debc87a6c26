package script_test

import (
	"context"
	"fmt"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// What a program will call is known before it runs.
func Example() {
	p := script.Program{Code: "const n: number = 2;\nawait callMCPTool('github__list_issues', { page: n })"}
	p.Check = func(_ context.Context, says sandbox.Parsed) sandbox.Verdict {
		for _, c := range says.Calls {
			fmt.Println(c.Target, c.Input.Fields[0].Name)
		}
		return sandbox.Verdict{}
	}
	src, err := script.Read(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	tree, err := src.Build(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = tree.Ask(context.Background(), func(name string) bool { return name == "callMCPTool" })
	fmt.Println(err)

	_, err = script.Read(script.Program{Language: sandbox.Python})
	fmt.Println(err)
	// Output:
	// github__list_issues page
	// <nil>
	// language "python" does not run here; use typescript or javascript
	// 0 tools called
}
