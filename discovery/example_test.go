package discovery_test

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery"
)

func ExampleNewCatalog() {
	c := discovery.NewCatalog([]discovery.Listing{{
		Server: "google-drive",
		Tools:  []discovery.ListedTool{{Name: "get_document", InputSchema: json.RawMessage(`{"type":"object"}`)}},
	}})
	for _, t := range c.Tools() {
		fmt.Println(t.ID, t.Func, t.WrapperPath)
	}
	// Output:
	// google_drive__get_document getDocument servers/google-drive/getDocument.ts
}
