package questions_test

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
)

func Example() {
	q := &mcp.ElicitParams{Message: "Delete 3 files?"}
	fmt.Println(questions.Missing(questions.Capabilities{URL: true}, q))
	fmt.Println(questions.Labelled("files", q).(*mcp.ElicitParams).Message)
	// Output:
	// elicitation.form
	// Server "files" asks:
	// > Delete 3 files?
}
