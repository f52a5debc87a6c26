package typecheck_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/broker/typecheck"
)

// Without a compiler, scripts run unchecked unless Options.TypecheckStrict of package
// broker is set.
func Example() {
	c := typecheck.New(typecheck.Options{Compiler: "/no/compiler"})
	_, err := c.Compiler(context.Background())
	fmt.Println(c.Named(), errors.Is(err, typecheck.ErrNoCompiler))
	// Output: true true
}
