package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// Readers are clients that only read. They count what fails, and note what took
// longest.
type readers struct {
	stop chan struct{}
	wg   sync.WaitGroup
	mu   sync.Mutex
	took map[string][]time.Duration
	errs []error
}

// startReaders starts one for each kind of request at each broker.
func startReaders(t *testing.T, urls ...string) *readers {
	t.Helper()
	r := &readers{stop: make(chan struct{}), took: make(map[string][]time.Duration)}
	for _, url := range urls {
		c := newCaller(t, url, modern)
		for what, f := range map[string]func(context.Context) (string, error){
			"search_tools": func(ctx context.Context) (string, error) {
				return c.tool(ctx, "search_tools", map[string]any{"query": "count a write"})
			},
			"list_servers": func(ctx context.Context) (string, error) {
				return c.tool(ctx, "list_servers", map[string]any{})
			},
			"scripts that read": func(ctx context.Context) (string, error) {
				return c.run(ctx, `return await counter.read({key: "r"})`)
			},
		} {
			r.wg.Go(func() {
				for {
					select {
					case <-r.stop:
						return
					case <-time.After(20 * time.Millisecond):
					}
					began := time.Now()
					_, err := f(t.Context())
					r.mu.Lock()
					if err != nil {
						r.errs = append(r.errs, fmt.Errorf("%s: %w", what, err))
					}
					r.took[what] = append(r.took[what], time.Since(began))
					r.mu.Unlock()
				}
			})
		}
	}
	return r
}

func (r *readers) end(t *testing.T) {
	t.Helper()
	close(r.stop)
	r.wg.Wait()
	for _, err := range r.errs {
		t.Errorf("a reader: %v", err)
	}
	for what, took := range r.took {
		p50, most := middle(took)
		t.Logf("%s: %d, none failed, p50 %v, at most %v", what, len(took), p50, most)
	}
}

// The primary is killed and the standby promoted: what was answered is there, and
// reading does not stop.
func TestFleetFailover(t *testing.T) {
	primary := startDatabase(t)
	standby, err := primary.Standby()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := startCounter(t)
	state := primary.Address(standby)
	f := startFleetWith(t, 2, faultsConfig(t, map[string]string{"counter": c.url}, map[string]any{}), fleetOptions{states: []string{state, state}})
	kept := openKept(t, state)
	l := startLoad(t, c, 4, f.url)
	eventually.True(t, "clients work", func() bool { return l.n.Load() > 20 })
	r := startReaders(t, f.url)
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	promoted, before := time.Now(), l.n.Load()
	eventually.True(t, "writes go on", func() bool { return l.n.Load() > before+4 }) // those that waited are done then
	resumed := time.Now()
	eventually.True(t, "clients go on", func() bool { return l.n.Load() > before+40 })
	l.end()
	r.end(t)
	kept.readRuns(t)
	l.check(kept)
	t.Logf("promoted after %v, writes go on %v after that", promoted.Sub(killed).Round(time.Millisecond), resumed.Sub(promoted).Round(time.Millisecond))
	if took := resumed.Sub(promoted); took > 5*time.Second {
		t.Errorf("writes went on after %v", took)
	}
	if len(l.failed) > 0 {
		t.Errorf("%d scripts failed: %v", len(l.failed), l.reasons())
	}
}
