package index_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/index"
)

func Example() {
	x := index.New(nil)
	defer x.Close()
	err := x.Sync(discovery.NewCatalog([]discovery.Listing{{Server: "github", Tools: []discovery.ListedTool{
		{Name: "list_issues", Description: "List the issues of a repository."},
		{Name: "create_issue", Description: "Create an issue in a repository."},
	}}}), nil)
	if err != nil {
		log.Fatal(err)
	}
	found, err := x.Search(context.Background(), index.Query{Text: "open a new ticket"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Hits[0].ID)
	// Output: github__create_issue
}
