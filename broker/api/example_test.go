package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// A command prints as JSON what HTTP answers.
func ExampleReader() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(dir, nil)
	if err != nil {
		panic(err)
	}
	defer store.Close()
	id := store.Begin(state.Execution{Client: "ann"})
	if err := store.Finish(state.Execution{ID: id, BytesIn: 5000, BytesOut: 1000}); err != nil {
		panic(err)
	}

	read := api.Reader{Audit: store}
	ledger, err := read.Ledger(context.Background(), time.Time{})
	if err != nil {
		panic(err)
	}
	saved, err := json.Marshal(ledger.TokensSaved)
	fmt.Println(string(saved), err)
	// Output: {"definitions_per_turn":0,"results":1000} <nil>
}
