package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
)

func Example() {
	dir, err := os.MkdirTemp("", "kept-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, store := context.Background(), files.Open(dir, nil)

	if err := store.SetValue(ctx, "alice", "cursor", json.RawMessage(`{"page":3}`)); err != nil {
		log.Fatal(err)
	}
	value, err := store.Value(ctx, "alice", "cursor")
	fmt.Println(string(value), err)
	_, err = store.Value(ctx, "bob", "cursor")
	fmt.Println(errors.Is(err, state.ErrNotFound))
	// Output:
	// {"page":3} <nil>
	// true
}
