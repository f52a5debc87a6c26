package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/filelock"
)

// A Daemon holds the lock and the socket of a state directory. Serve must be called once; it
// releases them.
type Daemon struct {
	build    Build
	log      *slog.Logger
	location location
	unlock   func()
	listener net.Listener
	started  time.Time

	mu       sync.Mutex
	clients  map[*Conversation]Client
	released bool // the lock and the socket are released
	idle     *time.Timer
	change   chan struct{} // closed and replaced when a conversation ends
}

// A Host serves the conversations of a daemon.
type Host interface {
	// Accepts returns the reason this daemon cannot serve a client, or "".
	Accepts(Hello) string
	// Converse serves one conversation until its input ends or ctx is done.
	Converse(ctx context.Context, c *Conversation)
}

// An Opener is a Host with a console.
type Opener interface {
	// OpenConsole returns an address that opens the console.
	OpenConsole(changes bool) (string, error)
	// Watched reports whether somebody uses the console, which keeps the daemon running.
	Watched() bool
}

// A Reporter is a Host that reports the states of its servers, as JSON.
type Reporter interface {
	Report() json.RawMessage
}

// Claim takes the lock and the socket of a state directory, without waiting: clients may connect
// from now on, and are answered once Serve is called. It returns ErrRunning if another process
// holds them.
func Claim(stateDir string, build Build, log *slog.Logger) (*Daemon, error) {
	p := locationOf(stateDir)
	unlock, ok, err := filelock.Try(p.lock)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrRunning
	}
	l, err := listen(p)
	if err != nil {
		unlock()
		return nil, fmt.Errorf("listen at %s: %w", p.socket, err)
	}
	return &Daemon{
		build: build, log: log, location: p, unlock: unlock, listener: l, started: time.Now().UTC(),
		clients: make(map[*Conversation]Client), change: make(chan struct{}),
	}, nil
}

// Refuse refuses all connected clients, and releases the lock and the socket.
func (d *Daemon) Refuse(why string) {
	_ = d.listener.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now().Add(100 * time.Millisecond))
	var wg sync.WaitGroup
	for {
		conn, err := d.listener.Accept()
		if err != nil {
			break
		}
		wg.Go(func() {
			defer conn.Close()
			var h Hello
			if readLine(conn, bufio.NewReader(conn), helloTime, &h) == nil {
				_ = writeLine(conn, Welcome{Broker: Version, PID: os.Getpid(), Build: d.build, Refused: why})
			}
		})
	}
	wg.Wait()
	d.release()
}

// release releases the lock and the socket. Conversations continue.
func (d *Daemon) release() {
	d.mu.Lock()
	was := d.released
	d.released = true
	d.mu.Unlock()
	if was {
		return
	}
	// In this order, every socket has a daemon.
	unlist(d.location)
	_ = d.listener.Close()
	d.unlock()
}

// Serve answers clients until ctx is done, there was no client for the given time,
// OpStop asks for the end, or a newer program has replaced it and the last conversation
// is over. It returns when every conversation has ended.
func (d *Daemon) Serve(ctx context.Context, host Host, idle time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer d.release()
	stop := context.AfterFunc(ctx, d.release)
	defer stop()
	d.mu.Lock()
	d.idle = time.AfterFunc(idle, func() {
		if o, ok := host.(Opener); ok && o.Watched() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.idle.Reset(idle)
			return
		}
		d.releaseIfAlone()
	})
	d.mu.Unlock()
	var wg sync.WaitGroup
	for {
		conn, err := d.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil { // such as too many open files
			d.log.Error("accept", "err", err)
			time.Sleep(50 * time.Millisecond)
			continue
		}
		wg.Go(func() {
			defer conn.Close()
			d.serveConn(ctx, host, conn, idle, cancel)
		})
	}
	wg.Wait()
	return nil
}

// releaseIfAlone calls leave unless a client has connected meanwhile.
func (d *Daemon) releaseIfAlone() {
	d.mu.Lock()
	alone := len(d.clients) == 0
	d.mu.Unlock()
	if alone {
		d.log.Info("no clients are connected, the daemon ends")
		d.release()
	}
}

// serveConn serves one connection.
func (d *Daemon) serveConn(ctx context.Context, host Host, conn net.Conn, idle time.Duration, stop func()) {
	if err := checkPeer(conn); err != nil {
		d.log.Error("refuse a connection", "err", err)
		return
	}
	br := bufio.NewReaderSize(conn, 64<<10)
	var h Hello
	if err := readLine(conn, br, helloTime, &h); err != nil {
		d.log.Debug("a connection without a first line", "err", err)
		return
	}
	w := Welcome{Broker: Version, PID: os.Getpid(), Build: d.build}
	switch {
	case h.Broker != Version:
		w.Refused = fmt.Sprintf("the daemon speaks version %d with its clients, this one %d", Version, h.Broker)
	case h.Op == OpStatus:
		w.Status = d.status()
		if r, ok := host.(Reporter); ok {
			if servers := r.Report(); len(servers) <= maxServerBytes {
				w.Status.Servers = servers
			}
		}
	case h.Op == OpConsole || h.Op == OpConsoleShow:
		o, ok := host.(Opener)
		if !ok {
			w.Refused = "this daemon has no console"
			break
		}
		url, err := o.OpenConsole(h.Op == OpConsole)
		if w.Console = url; err != nil {
			w.Refused = err.Error()
		}
	case h.Op == OpStop:
		d.log.Info("asked to stop", "pid", h.PID)
		d.release() // a client may start another daemon immediately
		_ = writeLine(conn, w)
		stop()
		return
	default:
		d.welcome(ctx, host, conn, br, h, w, idle)
		return
	}
	_ = writeLine(conn, w)
}

func (d *Daemon) status() *Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &Status{Since: d.started, Clients: []Client{}}
	for _, c := range d.clients {
		s.Clients = append(s.Clients, c)
	}
	return s
}

// welcome begins a conversation, refuses it, or hands over to another daemon: always for a newer
// program, and for other settings if there is no other client.
func (d *Daemon) welcome(ctx context.Context, host Host, conn net.Conn, br *bufio.Reader, h Hello, w Welcome, idle time.Duration) {
	c := &Conversation{ID: strconv.Itoa(h.PID) + "." + strconv.FormatInt(time.Now().UnixNano(), 36), Hello: h, in: br, conn: conn}
	w.Refused = host.Accepts(h)
	d.mu.Lock()
	switch {
	case d.released, h.Build.replaces(d.build), w.Refused != "" && len(d.clients) == 0:
		w.Moved, w.Refused = true, ""
	case w.Refused == "":
		d.clients[c] = Client{PID: h.PID, Dir: h.Dir, Since: time.Now().UTC()}
		d.idle.Stop()
	}
	d.mu.Unlock()
	if w.Moved {
		d.log.Info("another daemon takes over", "pid", h.PID)
		d.handOver()
	}
	err := c.send(w)
	if w.Moved || w.Refused != "" {
		return
	}
	if err == nil {
		host.Converse(ctx, c)
	}
	d.mu.Lock()
	delete(d.clients, c)
	if len(d.clients) == 0 {
		d.idle.Reset(idle)
	}
	d.mu.Unlock()
}

// handOver calls leave and notifies every bridge, which disconnects when no call is pending.
func (d *Daemon) handOver() {
	d.release()
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.clients {
		go func() { _ = c.send(Welcome{Broker: Version, PID: os.Getpid(), Build: d.build, Moved: true}) }()
	}
}

// A Conversation is the MCP stream of one client, in lines. Each call of Write must contain whole
// lines.
type Conversation struct {
	ID    string // unique among the conversations of this user
	Hello Hello
	in    *bufio.Reader
	mu    sync.Mutex
	conn  net.Conn
}

// Read reads messages of the client.
func (c *Conversation) Read(p []byte) (int, error) { return c.in.Read(p) }

// Write sends whole lines. It is safe for concurrent use.
func (c *Conversation) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn.Write(p)
}

// Close ends the connection, and with it Read.
func (c *Conversation) Close() error { return c.conn.Close() }

// Move asks the bridge to reconnect with a project folder when no request is pending.
func (c *Conversation) Move(root string) error {
	return c.send(Welcome{Broker: Version, PID: os.Getpid(), Moved: true, Root: root})
}

func (c *Conversation) send(w Welcome) error { return writeLine(c, w) }

var _ io.ReadWriteCloser = (*Conversation)(nil)
