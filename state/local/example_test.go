package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/local"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "state-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	b := local.Open(dir, nil)
	defer b.Close()

	ctx := context.Background()
	if err := b.Values().SetValue(ctx, state.Local, "seen", json.RawMessage(`[1, 2]`)); err != nil {
		log.Fatal(err)
	}
	keys, err := b.Values().Keys(ctx, state.Local)
	fmt.Println(keys, err)
	// Output: [seen] <nil>
}
