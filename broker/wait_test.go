package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// gatedServer is a server "slow" with the tool create_note that answers nothing
// until open is called. asked is closed with the first request.
func gatedServer(t *testing.T) (c upstream.Config, asked <-chan struct{}, open func()) {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	addNoteTools(s)
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	gate, first := make(chan struct{}), make(chan struct{})
	ask := sync.OnceFunc(func() { close(first) })
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ask()
		select {
		case <-gate:
			h.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(ts.Close)
	open = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open)
	return upstream.Config{Name: "slow", URL: ts.URL}, first, open
}

// A search is worth waiting for, and tells the client what it waits for.
// Meanwhile the same client is answered.
func TestSearchWaitsForServersThatStart(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			slow, _, open := gatedServer(t)
			b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{slow}, SearchWait: time.Minute})
			progress := make(chan string, 64)
			cs := connect(t, b, version, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				progress <- r.Params.Message
			}})
			calls := []*mcp.CallToolParams{
				{Name: "search_tools", Arguments: map[string]any{"query": "write something down in a note"}},
				{Name: "search_tools", Arguments: map[string]any{"query": "", "server": "slow"}},
				{Name: "list_servers", Arguments: map[string]any{"server": "slow"}},
			}
			texts := make(chan string, len(calls))
			for _, p := range calls {
				p.SetProgressToken(p.Name)
				go func() {
					res, err := cs.CallTool(t.Context(), p)
					if err != nil {
						t.Error(err)
						texts <- ""
						return
					}
					texts <- res.Content[0].(*mcp.TextContent).Text
				}()
			}
			for range calls {
				select {
				case m := <-progress:
					if m != "waiting for slow to start" {
						t.Errorf("progress says %q", m)
					}
				case <-time.After(20 * time.Second):
					t.Fatal("no progress within 20 s")
				}
			}
			if text, _ := call(t, cs, "list_servers", nil); !strings.Contains(text, `"starting"`) {
				t.Errorf("meanwhile list_servers answers %s", text)
			}
			open()
			for range calls {
				if text := <-texts; !strings.Contains(text, "slow__create_note") || strings.Contains(text, "still starting") {
					t.Errorf("got %s, want the tool of the server that was starting", text)
				}
			}
		})
	}
}

// After its patience a search answers with what there is, and says what is
// missing.
func TestSearchGivesUpWaiting(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{time.Millisecond, -1} {
		slow, _, _ := gatedServer(t)
		b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{slow, upstreamConfig(t, "files")}, SearchWait: wait})
		var a broker.SearchAnswer
		eventually(t, "files__read_file is found", func() bool {
			a = search(t, b, broker.SearchRequest{Query: "read file"})
			return slices.Contains(names(a), "files__read_file")
		})
		again := func(note string) bool {
			return strings.Contains(note, "still starting: slow (") && strings.HasSuffix(note, " s); ask again in a few seconds")
		}
		if len(a.Unsearched) != 1 || !strings.HasPrefix(a.Unsearched[0], "slow (") || !again(a.Note) {
			t.Errorf("unsearched %q, note %q, want the server that has not answered", a.Unsearched, a.Note)
		}
		for _, r := range []broker.SearchRequest{{Query: "zebra"}, {Query: "create a note", Server: "slow"}, {Server: "slow"}, {}} {
			a = search(t, b, r)
			if !again(a.Note) || strings.Contains(a.Note, "nothing matches") || strings.Contains(a.Note, "no tool has") {
				t.Errorf("Search(%+v): note %q", r, a.Note)
			}
		}
		if a = search(t, b, broker.SearchRequest{Query: "read file", Server: "files"}); a.Note != "" {
			t.Errorf("on a server that is listed: note %q", a.Note)
		}
		var list broker.ServersAnswer
		text, _ := call(t, connect(t, b, "2025-11-25", nil), "list_servers", map[string]any{"server": "slow"})
		if err := json.Unmarshal([]byte(text), &list); err != nil || !again(list.Note) {
			t.Errorf("list_servers answers %s, %v", text, err)
		}
	}
}

// Once the server is listed that a query is about, others are waited for only for
// a moment.
func TestSearchDoesNotWaitForWhatItIsNotAbout(t *testing.T) {
	t.Parallel()
	slow, _, _ := gatedServer(t)
	slow.Description = "Sends faxes"
	files := upstreamConfig(t, "files")
	files.Description = "Reads files"
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{slow, files}, SearchWait: time.Minute})
	start := time.Now()
	a := search(t, b, broker.SearchRequest{Query: "read a file"})
	if took := time.Since(start); took > 30*time.Second || !slices.Contains(names(a), "files__read_file") {
		t.Errorf("found %q after %s", names(a), took)
	}
	if !strings.Contains(a.Note, "still starting: slow") {
		t.Errorf("note %q does not say what is missing", a.Note)
	}
}

// A server that only sounds like the query does not end the wait for the others: one
// of them has the tool.
func TestSearchWaitsOnWhereTheBestHitIsAnothers(t *testing.T) {
	t.Parallel()
	slow, _, open := gatedServer(t)
	files := upstreamConfig(t, "files")
	files.Description = "Reads every note"
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{slow, files, {Name: "good", Command: fakeupstream.Command(), Args: fakeupstream.Args(fakeupstream.Good)}}, SearchWait: time.Minute})
	time.AfterFunc(2*time.Second, open) // later than a search waits for others
	if a := search(t, b, broker.SearchRequest{Query: "echo a note"}); !slices.Contains(names(a), "slow__create_note") {
		t.Errorf("found %q without the server that was starting: %s", names(a), a.Note)
	}
}

// What ends the wait before its time. None of these searches may last.
func TestSearchWaitsNoLongerThanItHelps(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // for all
	defer cancel()
	dead := upstream.Config{Name: "dead", Command: "/no/such/program"}
	files := upstreamConfig(t, "files")
	slow, asked, _ := gatedServer(t)
	find := func(b *broker.Broker, r broker.SearchRequest) broker.SearchAnswer {
		a, err := b.Search(ctx, r)
		if err != nil {
			t.Errorf("Search(%+v): %v", r, err)
		}
		return a
	}

	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{slow, files, dead}, SearchWait: time.Hour})
	for _, r := range []broker.SearchRequest{
		{Query: "files__read_file"}, {Query: " read_file "}, {Query: "files.read_file", Server: "files"}, // names
		{Query: "read a file", Server: "files"}, {Server: "files"}, // another server is not asked for
	} {
		if a := find(b, r); len(a.Tools) == 0 {
			t.Errorf("Search(%+v) finds nothing: %q", r, a.Note)
		}
	}
	if a := find(b, broker.SearchRequest{Query: "zebra", Server: "dead"}); len(a.Unsearched) != 1 || !strings.HasPrefix(a.Unsearched[0], "dead (") || strings.Contains(a.Note, "ask again") {
		t.Errorf("on a server that fails: unsearched %q, note %q", a.Unsearched, a.Note)
	}

	gone, leave := context.WithCancel(ctx)
	go func() { <-asked; leave() }()
	if _, err := b.Search(gone, broker.SearchRequest{Query: "zebra"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}

	done := make(chan broker.SearchAnswer)
	go func() { done <- find(b, broker.SearchRequest{Query: "zebra"}) }()
	b.Apply(broker.Settings{Servers: []upstream.Config{files}, SearchWait: time.Hour})
	if a := <-done; strings.Contains(a.Note, "ask again") {
		t.Errorf("after slow was taken out of the config: note %q", a.Note)
	}
}
