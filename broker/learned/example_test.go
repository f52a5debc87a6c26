package learned_test

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

func Example() {
	dir, err := os.MkdirTemp("", "learned")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	types, err := sqlite.Open(dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer types.Close()

	s := learned.New(types, nil) // for Options.Learned of package broker
	defer s.Close()
	s.Observe("wiki", "page", json.RawMessage(`{"title":"Home"}`), json.RawMessage(`{"text":"welcome","words":1}`))
	s.Observe("wiki", "page", json.RawMessage(`{"title":"News"}`), json.RawMessage(`{"text":"nothing new","words":2}`))
	t, ok := s.Type("wiki", "page")
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(t.Schema, &schema); err != nil {
		log.Fatal(err)
	}
	fmt.Println(ok, t.Calls, len(schema.Properties))
	// Output: true 2 2
}
