package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A home is a state directory and the daemons that were started for it. Its
// daemons are echoing hosts.
type home struct {
	t       *testing.T
	dir     string
	starts  atomic.Int32
	mu      sync.Mutex
	running []*echo
	wg      sync.WaitGroup
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir, err := os.MkdirTemp("", "d") // the name of a test makes a path too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: dir}
	t.Cleanup(func() {
		h.mu.Lock()
		for _, e := range h.running {
			e.stop()
		}
		h.mu.Unlock()
		h.wg.Wait()
		os.RemoveAll(dir)
	})
	return h
}

// start starts a daemon of a build and returns when it has ended, or at once
// with the error of Claim.
func (h *home) start(build Build) (<-chan error, error) {
	ended := make(chan error, 1)
	h.starts.Add(1)
	d, err := Claim(h.dir, build, slog.New(slog.DiscardHandler))
	if errors.Is(err, ErrRunning) {
		ended <- nil
		return ended, nil
	}
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	e := &echo{name: build.Version, stop: stop, release: make(chan struct{})}
	h.mu.Lock()
	h.running = append(h.running, e)
	h.mu.Unlock()
	h.wg.Go(func() { ended <- d.Serve(ctx, e, time.Minute) })
	return ended, nil
}

func (h *home) daemons() []*echo {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running
}

// An echo answers every request with its name, the method "wait" when it is
// released; it breaks the connection at the method "die".
type echo struct {
	name    string
	stop    func()
	release chan struct{}
	refuses string
	calls   atomic.Int32 // of the method "write"
	begun   atomic.Int32 // initializations
	hellos  atomic.Int32 // notifications of them
	report  json.RawMessage
}

func (e *echo) Accepts(Hello) string { return e.refuses }

func (e *echo) Converse(ctx context.Context, c *Conversation) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			return
		}
		switch m.Method {
		case "initialize":
			e.begun.Add(1)
		case "notifications/initialized":
			e.hellos.Add(1)
		case "write":
			e.calls.Add(1)
		case "die":
			return
		}
		if m.ID == nil || m.Method == "" {
			continue
		}
		wg.Go(func() {
			if m.Method == "wait" {
				select {
				case <-e.release:
				case <-ctx.Done():
					return
				}
			}
			fmt.Fprintf(c, `{"jsonrpc":"2.0","id":%s,"result":%q}`+"\n", m.ID, e.name)
		})
	}
}

// A client is the other end of a bridge.
type client struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	said chan string
	done chan error
}

func (h *home) client(build Build) *client {
	in, w := io.Pipe()
	r, out := io.Pipe()
	c := &client{h.t, w, bufio.NewReader(r), make(chan string, 100), make(chan error, 1)}
	b := &Bridge{
		In: in, Out: out, StateDir: h.dir, Hello: Hello{Broker: Version, Op: OpServe, Build: build, PID: os.Getpid()},
		Start: func() (<-chan error, error) { return h.start(build) },
		InProcess: func(ctx context.Context, in io.Reader, out io.Writer) error {
			for lines := bufio.NewScanner(in); lines.Scan(); {
				if head := scan(lines.Bytes()); head.request() {
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":"here"}`+"\n", head.id)
				}
			}
			return nil
		},
		Say: func(format string, args ...any) { c.said <- fmt.Sprintf(format, args...) },
	}
	go func() { c.done <- b.Run(h.t.Context()) }()
	h.t.Cleanup(func() {
		_ = w.Close()
		_ = r.Close()
	})
	return c
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) request(id int, method string) {
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"id":"x","method":"y"}}`, id, method))
}

// next returns the next line that the bridge wrote.
func (c *client) next() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return line
}

// answer returns the next line that is not a notification of changed tools.
func (c *client) answer() string {
	c.t.Helper()
	for {
		if line := c.next(); !strings.Contains(line, "list_changed") {
			return line
		}
	}
}

func (c *client) want(parts ...string) {
	c.t.Helper()
	line := c.next()
	for _, p := range parts {
		if !strings.Contains(line, p) {
			c.t.Fatalf("got %s, want %q in it", line, parts)
		}
	}
}

// wantBoth wants the answer of a new daemon, and the news that its tools may be
// others, in any order.
func (c *client) wantBoth(part string) {
	c.t.Helper()
	if lines := c.next() + c.next(); !strings.Contains(lines, part) || !strings.Contains(lines, "notifications/tools/list_changed") {
		c.t.Fatalf("got %s, want %q and list_changed", lines, part)
	}
}

func build(version string, second int) Build {
	return Build{Version: version, Size: 1, Time: time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC)}
}

func TestClientOutlivesItsDaemon(t *testing.T) {
	h := newHome(t)
	c := h.client(build("one", 1))
	c.request(1, "initialize")
	c.want(`"id":1`, `"one"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.request(2, "write")
	c.want(`"id":2`, `"one"`)
	c.request(3, "wait")
	c.request(4, "die")
	for range 2 {
		c.want("-32001", "may have had its effect")
	}
	c.request(5, "write")
	c.wantBoth(`"id":5`) // and no second answer to initialize
	for len(c.said) > 0 {
		t.Errorf("the bridge says %q", <-c.said)
	}
	e := h.daemons()[0]
	if e.begun.Load() != 2 || e.hellos.Load() != 2 || e.calls.Load() != 2 {
		t.Errorf("%d initializations, %d notifications, %d writes, want 2 of each", e.begun.Load(), e.hellos.Load(), e.calls.Load())
	}
	_ = c.in.Close()
	if err := <-c.done; err != nil {
		t.Error(err)
	}
}

func TestDaemonThatKeepsDyingIsGivenUp(t *testing.T) {
	h := newHome(t)
	c := h.client(build("one", 1))
	c.request(1, "initialize")
	c.want(`"id":1`)
	for i := range maxLosses {
		c.request(10+i, "die")
		c.want("-32001")
		c.request(20+i, "tools/list")
		c.wantBoth(fmt.Sprintf(`"id":%d`, 20+i))
	}
	if said := <-c.said; !strings.Contains(said, "without a daemon") {
		t.Errorf("the bridge says %q", said)
	}
}

func TestNewerProgramTakesOver(t *testing.T) {
	h := newHome(t)
	old := h.client(build("old", 1))
	old.request(1, "initialize")
	old.want(`"old"`)
	old.request(2, "wait")

	late := h.client(build("new", 2))
	late.request(1, "initialize")
	late.want(`"new"`)

	close(h.daemons()[0].release)
	// A call in progress ends where it began; the notification of the move may come
	// first.
	if line := old.answer(); !strings.Contains(line, `"id":2`) || !strings.Contains(line, `"old"`) {
		t.Fatalf("got %s, want the answer of the old daemon", line)
	}
	for id := 3; ; id++ { // until it knows the new one
		old.request(id, "tools/list")
		if strings.Contains(old.answer(), `"new"`) {
			break
		}
	}

	older := h.client(build("old", 1)) // a newer daemon is not replaced by an older one
	older.request(1, "initialize")
	older.want(`"new"`)
	if n := len(h.daemons()); n != 2 {
		t.Errorf("%d daemons, want 2", n)
	}
}

func TestHundredClientsStartOneDaemon(t *testing.T) {
	h := newHome(t)
	// What a dead daemon leaves.
	p := locationOf(h.dir)
	l, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
	var wg sync.WaitGroup
	for range 100 {
		c := h.client(build("one", 1))
		wg.Go(func() {
			_, _ = io.WriteString(c.in, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`+"\n")
			if line, err := c.out.ReadString('\n'); err != nil || !strings.Contains(line, `"one"`) {
				t.Errorf("got %q, %v", line, err)
			}
		})
	}
	wg.Wait()
	if n := len(h.daemons()); n != 1 {
		t.Errorf("%d daemons", n)
	}
	w, err := Ask(h.dir, OpStatus, build("one", 1))
	if err != nil || len(w.Status.Clients) != 100 {
		t.Errorf("status %+v, %v", w, err)
	}
}

func TestOtherSettings(t *testing.T) {
	h := newHome(t)
	first := h.client(build("one", 1))
	first.request(1, "initialize")
	first.want(`"one"`)
	h.daemons()[0].refuses = "it runs with another mode"
	second := h.client(build("one", 1))
	second.request(1, "initialize")
	second.want(`"here"`)
	if said := <-second.said; !strings.Contains(said, "another mode") {
		t.Errorf("the bridge says %q", said)
	}
	_ = first.in.Close()
	<-first.done
	waitAlone(t, h)
	third := h.client(build("one", 1)) // nobody else is there: a new daemon has its settings
	third.request(1, "initialize")
	third.want(`"one"`)
	if n := len(h.daemons()); n != 2 {
		t.Errorf("%d daemons, want 2", n)
	}
}

func waitAlone(t *testing.T, h *home) {
	t.Helper()
	for {
		w, err := Ask(h.dir, OpStatus, build("one", 1))
		if err != nil {
			t.Fatal(err)
		}
		if len(w.Status.Clients) == 0 {
			return
		}
	}
}

func TestPlacesThatAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, p location){
		"a file instead of a socket": func(t *testing.T, p location) {
			if err := os.WriteFile(p.socket, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"no folder": func(t *testing.T, p location) {
			if err := os.RemoveAll(p.folder); err != nil {
				t.Fatal(err)
			}
		},
		"a folder that others may write to": func(t *testing.T, p location) {
			if err := os.Chmod(p.folder, 0o777); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			spoil(t, locationOf(h.dir))
			c := h.client(build("one", 1))
			c.request(1, "initialize")
			c.want(`"here"`)
			if said := <-c.said; !strings.Contains(said, "serving without a daemon: ") {
				t.Errorf("the bridge says %q", said)
			}
		})
	}
}

func TestLongStateDirectoryHasAShortSocket(t *testing.T) {
	p := locationOf("/" + strings.Repeat("long/", 60))
	if len(p.socket) > maxSocketPath {
		t.Errorf("socket %s has %d bytes", p.socket, len(p.socket))
	}
	if q := locationOf("/" + strings.Repeat("long/", 61)); p.socket == q.socket {
		t.Error("two directories have one socket")
	}
}

func TestDaemonEndsWhenNobodyIsThere(t *testing.T) {
	h := newHome(t)
	d, err := Claim(h.dir, build("one", 1), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(h.dir, build("two", 2), slog.New(slog.DiscardHandler)); !errors.Is(err, ErrRunning) {
		t.Errorf("a second daemon: %v", err)
	}
	if err := d.Serve(t.Context(), &echo{}, time.Millisecond); err != nil {
		t.Error(err)
	}
	if _, err := Ask(h.dir, OpStatus, build("one", 1)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("status: %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "daemon.sock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestStoppedDaemonHasGivenItsPlaceUp(t *testing.T) {
	h := newHome(t)
	for range 50 {
		if _, err := h.start(build("one", 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := Ask(h.dir, OpStop, build("one", 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := Ask(h.dir, OpStatus, build("one", 1)); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("after stop: %v", err)
		}
	}
	if n := len(h.daemons()); n != 50 {
		t.Errorf("%d of 50 daemons had a place", n)
	}
}

func TestScan(t *testing.T) {
	for _, c := range []struct {
		line string
		want head
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, head{id: "1", method: `"tools/call"`}},
		{`{"params":{"id":7,"method":"no","a":["id",{"id":3}]},"method":"ping","id":"a\"b"}` + "\n", head{id: `"a\"b"`, method: `"ping"`}},
		{`{"result":{"id":9},"id":2}`, head{id: "2"}},
		{`{ "id" : 2 , "result" : {"method":"x"} }`, head{id: "2"}},
		{`{"method":"notifications/initialized"}`, head{method: `"notifications/initialized"`}},
		{`{"id":null,"error":{}}`, head{}},
		{`{"broker":1,"moved":true}`, head{control: true}},
		{`[{"id":1,"method":"ping"}]`, head{}},
		{`{"id":`, head{}},
		{`{"id":1,"method":"pi`, head{id: "1"}},
		{``, head{}},
	} {
		if got := scan([]byte(c.line)); got != c.want {
			t.Errorf("scan(%s) = %+v, want %+v", c.line, got, c.want)
		}
	}
}

// FuzzScan compares scan with encoding/json.
func FuzzScan(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"\\\""}}`)
	f.Add(`{"a":[1,{"id":2}],"id":"x","result":{}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var m map[string]json.RawMessage
		got := scan([]byte(text)) // never panics
		if json.Unmarshal([]byte(text), &m) != nil || m == nil {
			return
		}
		if strings.Contains(text, `\u`) || strings.Count(text, `"id"`) != 1 || strings.Count(text, `"method"`) > 1 || strings.Contains(text, `"broker"`) {
			return // names in disguise, and names twice, are nobody's messages
		}
		id, method := string(m["id"]), string(m["method"])
		if id == "null" {
			id = ""
		}
		if id != "" && got.id != id || method != "" && got.method != method && m["result"] == nil && m["error"] == nil {
			t.Errorf("scan(%s) = %+v, want %s and %s", text, got, id, method)
		}
	})
}
