package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

func Example() {
	dir, err := os.MkdirTemp("", "record-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	record, err := sqlite.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer record.Close()

	id := record.Begin(state.Execution{Client: "ci", Language: "typescript", Code: "return 1"})
	record.Record(state.Call{ExecutionID: id, Server: "github", Tool: "list_issues", Status: state.CallOK})
	if err := record.Finish(state.Execution{ID: id, Calls: 1}); err != nil {
		log.Fatal(err)
	}
	execution, calls, err := record.Show(context.Background(), id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(execution.Client, execution.Status, calls[0].Tool)
	// Output: ci done list_issues
}
