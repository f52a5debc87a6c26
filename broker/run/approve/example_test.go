package approve_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/broker/run/approve"
	"github.com/mcpbroker/mcpbroker/state"
)

func ExampleAsked() {
	fmt.Println(approve.Asked(state.RunCall{Ordinal: 1, Tool: "mail__send", Args: []byte(`{"to":"a@b.example"}`), Why: "writes"}))
	// Output:
	//   1  mail__send: it writes
	//      {"to":"a@b.example"}
}
