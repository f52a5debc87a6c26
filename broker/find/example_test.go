package find_test

import (
	"context"
	"fmt"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/find"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
)

func Example() {
	tools := discovery.Listing{Server: "github", Tools: []discovery.ListedTool{
		{Name: "list_issues", Description: "List the issues of a repository."},
		{Name: "create_issue", Description: "Open an issue."},
	}}
	c := catalog.New(catalog.Options{Fixed: []discovery.Listing{tools}}, &upstream.Options{}, func() {})
	defer c.Close()
	f := find.New(find.Options{}, c, &index.Options{})
	defer f.Close()
	found, err := f.Search(context.Background(), find.SearchRequest{Query: "list issues", Limit: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(found.Tools[0].Name)
	// Output: github__list_issues
}
