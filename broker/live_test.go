package broker_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

// Every client starts a broker of its own, often on the same state directory.
func TestTwoBrokersOnOneStateDirectory(t *testing.T) {
	cache := t.TempDir()
	servers := []upstream.Config{upstreamConfig(t, "files"), upstreamConfig(t, "notes")}
	one := newBroker(t, broker.Deps{CacheDir: cache}, broker.Settings{Servers: servers})
	two := newBroker(t, broker.Deps{CacheDir: cache}, broker.Settings{Servers: servers})
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
	three := newBroker(t, broker.Deps{CacheDir: cache}, broker.Settings{Servers: servers})
	if a := search(t, three, broker.SearchRequest{Query: "store a note"}); !slices.Contains(names(a), "notes__create_note") || a.Unsearched != nil {
		t.Errorf("from the cache: %v, unsearched %q", names(a), a.Unsearched)
	}
}

// A program that runs one script starts the servers that the script needs, and
// no others: each may have to be installed first.
func TestOneScriptStartsWhatItNeeds(t *testing.T) {
	for _, c := range []struct {
		name, code string
		started    []string
	}{
		{"nothing", "return 1 + 1", nil},
		{"a member that is called like a server", "const o = JSON.parse('{}'); return o.files ?? 1", nil},
		{"a namespace", "return (await files.readFile({ path: '/a' })) !== null", []string{"files"}},
		{"an import", "import { readFile } from './servers/files'; return typeof readFile", []string{"files"}},
		{"an id", "return await callMCPTool('notes__create_note', { title: 't', body: 'b' }).catch(() => 0) !== null", []string{"notes"}},
		{"an id that is not in the text", "return await callMCPTool(['no', 'tes__create', '_note'].join(''), {}).catch(e => e.code) !== 'unknown_tool'", []string{"notes"}},
		{"a search", "if (!(await tools.search('read file')).tools.length) throw new Error('nothing is found')", []string{"files", "notes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := broker.New(broker.Deps{Runner: inproc.New()}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "files"), upstreamConfig(t, "notes")}})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			b.StartLazily(t.Context())
			if a := b.Execute(t.Context(), broker.ExecuteRequest{Code: c.code}); a.ExitCode != 0 {
				t.Fatalf("%+v", a)
			}
			var started []string
			for _, s := range b.Status() {
				if s.State != upstream.StateIdle {
					started = append(started, s.Name)
				}
			}
			if !slices.Equal(started, c.started) {
				t.Errorf("started %q, want %q", started, c.started)
			}
		})
	}
}
