package state_test

import (
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/state"
)

// An implementation of Journal prepares its entries, so that no secret is
// kept anywhere.
func ExampleCall_Prepare() {
	c := state.Call{Server: "github", Tool: "create_issue", Args: []byte(`{"title":"Login fails","token":"hunter2"}`)}
	c.Prepare(state.Keep{Payloads: true})
	fmt.Println(string(c.Args))
	// Output: {"title":"Login fails","token":"[redacted]"}
}

func ExampleNewID() {
	id := state.NewID()
	fmt.Println(strings.HasPrefix(id, "e_"), len(id))
	// Output: true 24
}
