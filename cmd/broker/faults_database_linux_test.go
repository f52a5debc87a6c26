package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/state"
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
	t.Parallel()
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
	at := primary.Address(standby)
	f := startFleetWith(t, 2, faultsConfig(t, map[string]string{"counter": c.url}, map[string]any{}), fleetOptions{states: []string{at, at}})
	kept := openKept(t, at)
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

// A splitter is the network between a broker and its database: it can be split, and
// then connections are there, and nothing comes through them.
type splitter struct {
	dir   string // of its socket
	to    string
	mu    sync.Mutex
	split chan struct{} // closed while nothing comes through
	far   map[net.Conn]bool
}

func newSplitter(t *testing.T, to string) *splitter {
	t.Helper()
	s := &splitter{dir: t.TempDir(), to: to, split: make(chan struct{}), far: make(map[net.Conn]bool)}
	l, err := net.Listen("unix", filepath.Join(s.dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { near.Close() })
			go s.forward(near)
		}
	}()
	return s
}

// now is closed once the network is split.
func (s *splitter) now() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.split
}

func (s *splitter) forward(near net.Conn) {
	split := s.now()
	select {
	case <-split: // the other side never hears of it
		return
	default:
	}
	far, err := net.Dial("unix", s.to)
	if err != nil {
		near.Close()
		return
	}
	s.mu.Lock()
	s.far[far] = true
	s.mu.Unlock()
	pass := func(to, from net.Conn) {
		for buf := make([]byte, 32<<10); ; {
			n, err := from.Read(buf)
			select {
			case <-split:
				return
			default:
			}
			if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
				near.Close()
				far.Close()
				return
			}
		}
	}
	go pass(near, far)
	pass(far, near)
}

func (s *splitter) cut() { close(s.now()) }

// noticed ends the connections on the side of the database, as the server does after
// 25 s.
func (s *splitter) noticed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for far := range s.far {
		far.Close()
	}
	clear(s.far)
}

func (s *splitter) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.split = make(chan struct{})
}

// One of two brokers is cut off from the database: it sends no write any more, says so,
// and goes on with what reads; the other one does not notice.
func TestFleetSplit(t *testing.T) {
	t.Parallel()
	db, c := startDatabase(t), startCounter(t)
	at := db.Address()
	s := newSplitter(t, db.Socket())
	split := strings.Replace(at, url.QueryEscape(filepath.Dir(db.Socket())), url.QueryEscape(s.dir), 1)
	f := startFleetWith(t, 2, faultsConfig(t, map[string]string{"counter": c.url}, map[string]any{}), fleetOptions{states: []string{split, at}})
	one, two := "http://"+f.replicas[0].addr+"/mcp", "http://"+f.replicas[1].addr+"/mcp"
	kept := openKept(t, at)
	l := startLoad(t, c, 4, one, two)
	eventually.True(t, "clients work", func() bool { return l.n.Load() > 20 })
	r, probe := startReaders(t, one), newCaller(t, one, modern)
	s.cut()
	cut := time.Now()
	_, err := probe.run(t.Context(), `await counter.write({key: "cut"})`)
	t.Logf("a write %v after the network was split: %v", time.Since(cut).Round(time.Millisecond), err)
	if err == nil || !strings.Contains(err.Error(), "was not sent") || c.count("cut") != 0 {
		t.Errorf("a write is sent by the broker that is cut off: %v", err)
	}
	if took := time.Since(cut); took > 30*time.Second {
		t.Errorf("the broker says so after %v", took)
	}
	s.noticed()
	before := l.n.Load()
	eventually.True(t, "the other broker works", func() bool { return l.n.Load() > before+20 })
	kept.readRuns(t)
	r.end(t)
	s.heal()
	healed := time.Now()
	eventually.True(t, "the broker writes again", func() bool {
		_, err := probe.run(t.Context(), fmt.Sprintf(`await counter.write({key: "h%d"})`, time.Now().UnixNano()))
		return err == nil
	})
	t.Logf("it writes %v after the network is back", time.Since(healed).Round(time.Millisecond))
	l.end()
	l.drained(kept)
	kept.readRuns(t)
	l.check(kept)
}

// The database is stopped for a while: reading goes on, and writes happen once it is back.
func TestFleetDatabasePaused(t *testing.T) {
	t.Parallel()
	db, c := startDatabase(t), startCounter(t)
	at := db.Address()
	f := startFleetWith(t, 2, faultsConfig(t, map[string]string{"counter": c.url}, map[string]any{}), fleetOptions{states: []string{at, at}})
	kept := openKept(t, at)
	l := startLoad(t, c, 4, f.url)
	eventually.True(t, "clients work", func() bool { return l.n.Load() > 20 })
	goOn, err := db.Pause()
	if err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	r, reader := startReaders(t, f.url), newCaller(t, f.url, legacy)
	for range 5 {
		began := time.Now()
		answer, err := reader.run(t.Context(), `return await counter.read({key: "r"})`)
		t.Logf("a script that reads took %v", time.Since(began).Round(time.Millisecond))
		if err != nil {
			t.Errorf("a script that reads: %s, %v", answer, err)
		}
	}
	r.end(t)
	if err := goOn(); err != nil {
		t.Fatal(err)
	}
	back, before := time.Now(), l.n.Load()
	eventually.True(t, "clients go on", func() bool { return l.n.Load() > before+20 })
	t.Logf("stopped for %v, clients go on %v after that", back.Sub(stopped).Round(time.Millisecond), time.Since(back).Round(time.Millisecond))
	l.end()
	l.drained(kept)
	kept.readRuns(t)
	l.check(kept)
}

// drained waits until the record has the ends of all that was answered: some of it waits
// on the disks of brokers when a database is back.
func (l *load) drained(k *keptRows) {
	eventually.True(l.t, "the record has what was answered", func() bool {
		clear(k.executions)
		k.read(l.t)
		for key := range l.answered {
			if k.executions[key].Status != state.StatusDone {
				return false
			}
		}
		clear(k.executions)
		return true
	})
}
