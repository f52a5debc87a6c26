package upstream

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A together is what the pools of a test keep together.
type together struct {
	mu        sync.Mutex
	away      bool
	kept      map[string][]byte
	followers map[int]func(string)
	n         int
}

func (l *together) Listings(_ context.Context, keys []string) (map[string][]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := maps.Clone(l.kept)
	maps.DeleteFunc(all, func(key string, _ []byte) bool { return !slices.Contains(keys, key) })
	if l.away {
		return nil, errors.New("away")
	}
	return all, nil
}

func (l *together) SetListing(_ context.Context, key string, body []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return errors.New("away")
	}
	if l.kept == nil {
		l.kept = map[string][]byte{}
	}
	if string(l.kept[key]) != string(body) {
		l.kept[key] = body
		l.tellLocked(key)
	}
	return nil
}

func (l *together) tellLocked(key string) {
	for _, f := range l.followers {
		f(key)
	}
}

func (l *together) tell(away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = away
	l.tellLocked("")
}

func (l *together) Follow(heard func(string)) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.followers == nil {
		l.followers = map[int]func(string){}
	}
	l.n++
	n := l.n
	l.followers[n] = heard
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.followers, n)
	}
}

func others() bool { return false } // list

func TestOnePoolListsForAll(t *testing.T) {
	all, cfg, dir := &together{}, fake("s", fakeupstream.Good), t.TempDir()
	waits := newPool(t, &Options{Listings: all, Lists: others, CacheDir: dir}, cfg)
	waits.Start(t.Context())
	if got := waits.Starting(); len(got) != 1 {
		t.Errorf("%+v may have tools any moment, want s", got)
	}
	lists := newPool(t, &Options{Listings: all}, cfg)
	lists.Start(t.Context())
	eventually.True(t, "the other pool knows the tools", func() bool { return len(waits.Listings()) == 1 })
	if st := waits.Status()[0]; st.State != StateCached || st.PID != 0 || st.Tools == 0 {
		t.Errorf("status = %+v, want it cached and not running", st)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d listings on disk, %v", len(files), err)
	}
	if _, err := waits.Call(t.Context(), "s", "echo", nil, nil); err != nil {
		t.Errorf("call: %v", err)
	}
	// One that comes later knows it at once, also from its own disk when nobody can
	// be asked.
	late := newPool(t, &Options{Listings: all, Lists: others}, cfg)
	all.tell(true)
	alone := newPool(t, &Options{Listings: all, Lists: others, CacheDir: dir}, cfg)
	if len(late.Listings()) != 1 || len(alone.Listings()) != 1 {
		t.Errorf("known at once: %d of 1, %d of 1 while the others are away", len(late.Listings()), len(alone.Listings()))
	}
}

// A server that somebody needs is not left to others, and neither is one for long.
func TestANeededServerIsListedByWhoNeedsIt(t *testing.T) {
	all, cfg := &together{}, fake("s", fakeupstream.Good)
	p := newPool(t, &Options{Listings: all, Lists: others}, cfg)
	p.Start(t.Context())
	if err := p.Wait(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if len(all.kept) != 1 {
		t.Error("others do not know what was listed")
	}
}

func TestAnotherPoolListsWhenTheFirstIsGone(t *testing.T) {
	all, cfg := &together{}, fake("s", fakeupstream.Good)
	leads := false
	p := newPool(t, &Options{Listings: all, Lists: func() bool { all.mu.Lock(); defer all.mu.Unlock(); return leads }}, cfg)
	p.Start(t.Context())
	if st := p.Status()[0]; st.State != StateIdle {
		t.Fatalf("status = %+v before it lists", st)
	}
	all.mu.Lock()
	leads = true
	all.mu.Unlock()
	all.tell(false)
	eventually.True(t, "the server is listed", func() bool { return len(p.Listings()) == 1 })
}

// What a server says to one pool all know, and what could not be shared is when
// that is possible again.
func TestAChangeReachesAllPools(t *testing.T) {
	srv := fakeupstream.NewGood()
	url := serve(t, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{SessionTimeout: time.Minute}))
	all, cfg, dir := &together{}, Config{Name: "s", URL: url, Type: "http", KeepAlive: true}, t.TempDir()
	one := newPool(t, &Options{Listings: all}, cfg)
	one.Start(t.Context())
	cfg.KeepAlive = false
	two := newPool(t, &Options{Listings: all, Lists: others, CacheDir: dir}, cfg)
	two.Start(t.Context())
	add := func(name string) {
		mcp.AddTool(srv, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	}
	has := func(p *Pool, name string) func() bool {
		return func() bool { return len(p.Listings()) == 1 && slices.Contains(toolNames(t, p), name) }
	}
	eventually.True(t, "both know the server", func() bool { return has(one, "echo")() && has(two, "echo")() })
	add("later")
	eventually.True(t, "the other pool knows the new tool", has(two, "later"))
	if two.Status()[0].State != StateCached {
		t.Errorf("status %+v, want no connection", two.Status()[0])
	}
	all.tell(true)
	add("last")
	eventually.True(t, "the first pool knows the last tool", has(one, "last"))
	all.tell(false)
	eventually.True(t, "the other pool knows the last tool", has(two, "last"))
	if e, ok := cache.Dir(dir).Load(cfg.key()); !ok || len(e.Listing.Tools) != len(toolNames(t, two)) {
		t.Errorf("on disk: %v, %d tools in %s", ok, len(e.Listing.Tools), filepath.Base(dir))
	}
}
