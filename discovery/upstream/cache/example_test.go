package cache_test

import (
	"fmt"
	"os"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
)

func Example() {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	d, k := cache.Dir(dir), cache.Key{Server: "notes", ID: "4f1d"}
	entry := cache.Entry{Listing: discovery.Listing{Server: "notes", Tools: []discovery.ListedTool{{Name: "count"}}}}
	if err := d.Store(k, entry.Encode()); err != nil {
		fmt.Println(err)
		return
	}
	e, ok := d.Load(k)
	fmt.Println(e.Listing.Tools[0].Name, ok, d.Failed(k))
	// Output: count true false
}
