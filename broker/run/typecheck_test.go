package run

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/broker/typecheck"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Compiler errors that do not apply to this runtime do not refuse a script.
func TestWhichTypeErrorsAreCertain(t *testing.T) {
	for message, want := range map[string]bool{
		"Type 'string' is not assignable to type 'number'.":                                                    true,
		"Type 'bigint' is not assignable to type 'number'.":                                                    false,
		"Argument of type 'bigint' is not assignable to parameter of type 'number | undefined'.":               false,
		"Type 'bigint' is not assignable to type 'string'.":                                                    true,
		"This comparison appears to be unintentional because the types 'number' and 'bigint' have no overlap.": false,
		"This comparison appears to be unintentional because the types 'number' and '5n' have no overlap.":     false,
		"This comparison appears to be unintentional because the types 'string' and 'number' have no overlap.": true,
		"Property 'content' does not exist on type 'TakeShotOutput'.":                                          false,
		"Property 'contents' does not exist on type 'TakeShotOutput'.":                                         true,
	} {
		if got := certain(typecheck.Diagnostic{Message: message}, sandbox.Parsed{}); got != want {
			t.Errorf("%s: certain %v, want %v", message, got, want)
		}
	}
}
