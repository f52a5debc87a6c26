package catalog_test

import (
	"context"
	"fmt"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

func Example() {
	tools := discovery.Listing{Server: "google-drive", Tools: []discovery.ListedTool{{Name: "get_document"}}}
	c := catalog.New(catalog.Options{Fixed: []discovery.Listing{tools}}, &upstream.Options{}, func() {})
	defer c.Close()
	t, err := c.Resolve(context.Background(), "google-drive.get_document")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.ID)
	_, err = c.Resolve(context.Background(), "google-drive.get_documents")
	fmt.Println(err)
	// Output:
	// google_drive__get_document
	// unknown tool "google-drive.get_documents"; did you mean google_drive__get_document?
}
