package listing_test

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery/listing"
)

func Example() {
	page := json.RawMessage(`{"tools":[
		{"name":"search","description":"Finds\u200b books.","inputSchema":{"type":"object"}},
		{"name":"search"},
		7
	]}`)
	tools, _, err := listing.Split(page)
	if err != nil {
		fmt.Println(err)
		return
	}
	var r listing.Reader
	for _, t := range tools {
		r.Add(t)
	}
	fmt.Println(r.Tools[0].Name, r.Tools[0].Description)
	for _, p := range r.Problems {
		fmt.Println(p)
	}
	// Output:
	// search Finds books.
	// tool "search" is listed twice: the first one counts
	// a tool was left out: it is 7, not an object
}
