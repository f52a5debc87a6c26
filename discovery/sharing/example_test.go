package sharing_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
)

func Example() {
	known, name, _ := sharing.Known("npx", []string{"-y", "@playwright/mcp@latest"})
	fmt.Println(name, known.Kind, known.Isolate)
	fmt.Println(sharing.KeepsState(discovery.ListedTool{Name: "select_database"}))
	// Output:
	// @playwright/mcp client --isolated
	// true
}
