package broker_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// A server's tools are found as soon as it has answered, whatever the others
// do.
func TestSearchDoesNotWaitForSlowServers(t *testing.T) {
	b := newBroker(t, broker.Options{Servers: []upstream.Config{{Name: "hangs", Command: "sleep", Args: []string{"600"}}, upstreamConfig(t, "files")}})
	var a broker.SearchAnswer
	eventually(t, "files__read_file is found", func() bool {
		a = search(t, b, broker.SearchRequest{Query: "read file"})
		return slices.Contains(names(a), "files__read_file")
	})
	if len(a.Unsearched) != 1 || !strings.HasPrefix(a.Unsearched[0], "hangs (") {
		t.Errorf("unsearched %q, want the server that has not answered", a.Unsearched)
	}
}

// Every client starts a broker of its own, often on the same state directory.
func TestTwoBrokersOnOneStateDirectory(t *testing.T) {
	cache := t.TempDir()
	servers := []upstream.Config{upstreamConfig(t, "files"), upstreamConfig(t, "notes")}
	one := newBroker(t, broker.Options{Servers: servers, CacheDir: cache})
	two := newBroker(t, broker.Options{Servers: servers, CacheDir: cache})
	var wg sync.WaitGroup
	for _, b := range []*broker.Broker{one, two} {
		wg.Go(func() {
			for range 3 {
				b.Refresh(t.Context())
				a, err := b.Search(t.Context(), broker.SearchRequest{Query: "read file"})
				if err != nil || !slices.Contains(names(a), "files__read_file") {
					t.Errorf("%v %v", names(a), err)
				}
			}
		})
	}
	wg.Wait()
	// A third finds everything in the cache, with no server running.
	three := newBroker(t, broker.Options{Servers: servers, CacheDir: cache})
	if a := search(t, three, broker.SearchRequest{Query: "store a note"}); !slices.Contains(names(a), "notes__create_note") || a.Unsearched != nil {
		t.Errorf("from the cache: %v, unsearched %q", names(a), a.Unsearched)
	}
}
