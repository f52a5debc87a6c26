package launch_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
)

func ExampleRunner() {
	fmt.Println(launch.Runner("npx", []string{"-y", "@acme/server"}))
	fmt.Println(launch.Runner("sh", []string{"-c", "exec uvx acme-server"}))
	fmt.Printf("%q\n", launch.Runner("/opt/acme/server", nil))
	// Output:
	// npx
	// uvx
	// ""
}
