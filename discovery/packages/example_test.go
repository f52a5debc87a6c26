package packages_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery/packages"
)

func ExampleParse() {
	spec, err := packages.Parse("npx", []string{"-y", "@acme/server@^2", "--port", "80"})
	fmt.Println(spec.Name, spec.Version, spec.Args, err)
	_, err = packages.Parse("npx", []string{"-c", "server"})
	fmt.Println(err)
	// Output:
	// @acme/server ^2 [--port 80] <nil>
	// runs as it is written: -c is an option that only the package runner knows
}
