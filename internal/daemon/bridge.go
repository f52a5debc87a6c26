package daemon

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/lines"
)

const (
	// maxLineBytes slightly exceeds the broker's limit for a message: longer lines are cut here
	// and refused there.
	maxLineBytes = 16<<20 + 1<<10
	// maxAnswerBytes bounds one line of the daemon.
	maxAnswerBytes = 256 << 20

	// connectTime bounds the time that a client waits for a daemon before it is served without
	// one.
	connectTime = 10 * time.Second
	// A daemon that is lost maxLosses times within lossTime is not started again.
	maxLosses = 3
	lossTime  = 3 * time.Second
	// endTime bounds the time for the daemon to end a conversation.
	endTime = 3 * time.Second
)

// A Bridge connects one client to the daemon. It forwards lines without decoding them, and
// survives the daemon.
type Bridge struct {
	In       io.Reader // the client's messages
	Out      io.Writer // receives the daemon's messages
	StateDir string
	Hello    Hello // describes this client
	// Vary sets what may differ on each connection; it may be nil.
	Vary func(*Hello)
	// Start starts a daemon and returns immediately. The channel receives the error with which the
	// process ended, or nil if a daemon exists already.
	Start func() (<-chan error, error)
	// InProcess serves a client without a daemon.
	InProcess func(ctx context.Context, in io.Reader, out io.Writer) error
	// Say informs the client's user.
	Say func(format string, args ...any)

	outMu sync.Mutex // held while writing to Out

	mu          sync.Mutex
	conn        io.WriteCloser    // nil without a connection
	ready       chan struct{}     // closed when conn is set
	wanted      chan struct{}     // has an element if the client has something to send and there is no connection
	pending     map[string][]byte // the client's pending requests by id, with the line of those that are sent again
	asked       map[string]bool   // requests of the daemon without an answer
	initialize  []byte            // the client's initialize
	begun       string            // its id
	initialized bool              // it was answered
	handedOver  bool              // the daemon has handed over
	closed      bool              // the client's input has ended

	losses []time.Time // used by down only
}

// Run serves the client until its input ends, regardless of the daemon.
func (b *Bridge) Run(ctx context.Context) error {
	conn, br, err := b.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		b.Say("serving without a daemon: %v", err)
		return b.InProcess(ctx, b.In, b.Out)
	}
	b.pending, b.asked = make(map[string][]byte), make(map[string]bool)
	b.ready, b.wanted = make(chan struct{}), make(chan struct{}, 1)
	b.conn = conn
	close(b.ready)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		b.down(ctx, conn, br)
	}()
	up := make(chan struct{})
	go func() { // a read of stdin cannot be interrupted
		defer close(up)
		b.up(ctx)
	}()
	select {
	case <-ctx.Done():
	case <-up:
		select {
		case <-over:
		case <-ctx.Done():
		case <-time.After(endTime):
		}
	}
	cancel()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.conn != nil {
		_ = b.conn.Close()
	}
	return nil
}

// up forwards the client's lines until they end.
func (b *Bridge) up(ctx context.Context) {
	in := bufio.NewReaderSize(b.In, 64<<10)
	for {
		line, _, err := lines.Read(in, maxLineBytes)
		if len(line) > 0 {
			if line[len(line)-1] != '\n' {
				line = append(line, '\n')
			}
			if !b.forward(ctx, line) {
				return
			}
		}
		if err != nil {
			break
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wakeDown()
	if c, ok := b.conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite() // the daemon sees the end of the input and ends the conversation
	} else if b.conn != nil {
		_ = b.conn.Close()
	}
}

// forward sends one line of the client, and waits for a daemon if necessary.
func (b *Bridge) forward(ctx context.Context, line []byte) bool {
	h := scan(line)
	for {
		b.mu.Lock()
		conn, ready := b.conn, b.ready
		if conn != nil {
			answers := h.response()
			stale := answers && !b.asked[h.id] // the daemon that asked has ended
			delete(b.asked, h.id)
			if h.request() {
				b.track(h, line)
			}
			b.mu.Unlock()
			if !answers || !stale {
				_, _ = conn.Write(line) // if it fails, down notices too
			}
			return true
		}
		b.wakeDown()
		b.mu.Unlock()
		select {
		case <-ready:
		case <-ctx.Done():
			return false
		}
	}
}

// wakeDown wakes down if it waits for something to send.
func (b *Bridge) wakeDown() {
	select {
	case b.wanted <- struct{}{}:
	default:
	}
}

// track records a pending request, and what must be sent again to a new daemon. b.mu must be held.
func (b *Bridge) track(h head, line []byte) {
	b.pending[h.id] = nil
	switch h.method {
	case `"initialize"`:
		b.initialize, b.begun = line, h.id
	case `"subscriptions/listen"`:
		b.pending[h.id] = line
	}
}

// down forwards the daemon's lines, and reconnects when the connection is lost.
func (b *Bridge) down(ctx context.Context, conn io.WriteCloser, br *bufio.Reader) {
	for {
		b.copyLines(br)
		b.disconnect()
		_ = conn.Close()
		b.mu.Lock()
		moved, done, lost := b.handedOver, b.closed, b.pending
		b.handedOver, b.pending = false, make(map[string][]byte)
		clear(b.asked)
		b.mu.Unlock()
		if done || ctx.Err() != nil {
			return
		}
		listens := b.fail(lost)
		if !moved {
			b.losses = append(b.losses, time.Now())
		}
		if len(listens) == 0 && !b.waitForWork(ctx) {
			return
		}
		if conn, br = b.reconnect(ctx, listens); conn == nil {
			return
		}
	}
}

// waitForWork waits until the client has something to send: a stopped daemon is not restarted
// before that. It returns false if nothing will come.
func (b *Bridge) waitForWork(ctx context.Context) bool {
	select {
	case <-b.wanted:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closed && ctx.Err() == nil
}

// disconnect makes the connection unusable.
func (b *Bridge) disconnect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropLocked()
}

func (b *Bridge) dropLocked() {
	if b.conn != nil {
		b.conn, b.ready = nil, make(chan struct{})
	}
}

// copyLines forwards lines of one connection until it ends, or until it is to be closed and
// nothing is pending.
func (b *Bridge) copyLines(br *bufio.Reader) {
	for {
		line, size, err := lines.Read(br, maxAnswerBytes)
		if err != nil || size > maxAnswerBytes {
			return // the answer is not a message
		}
		h := scan(line)
		if h.control {
			var w Welcome
			if json.Unmarshal(line, &w) == nil && w.Root != "" {
				b.Hello.Root = w.Root
			}
		} else {
			b.answered(h)
			if b.write(line) != nil {
				return
			}
		}
		if b.leaveIfIdle(h.control) {
			return
		}
	}
}

// answered records a line of the daemon.
func (b *Bridge) answered(h head) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case h.request():
		b.asked[h.id] = true
	case h.response():
		delete(b.pending, h.id)
		b.initialized = b.initialized || h.id == b.begun
	}
}

// leaveIfIdle reports whether the connection is to be closed now, and if so makes it unusable.
// told means that the daemon has just asked for it.
func (b *Bridge) leaveIfIdle(told bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handedOver = b.handedOver || told
	if !b.handedOver || b.closed {
		return false
	}
	for _, again := range b.pending {
		if again == nil {
			return false
		}
	}
	b.dropLocked()
	return true
}

func (b *Bridge) write(line []byte) error {
	b.outMu.Lock()
	defer b.outMu.Unlock()
	_, err := b.Out.Write(line)
	return err
}

// fail answers the requests that were pending when the daemon ended. They are not sent again,
// because they may have taken effect, except initialize and the listeners that fail returns.
func (b *Bridge) fail(lost map[string][]byte) (listeners map[string][]byte) {
	listeners = make(map[string][]byte)
	for id, line := range lost {
		switch {
		case line != nil:
			listeners[id] = line
		case id == b.begun && !b.initialized:
		default:
			_ = b.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"the broker's daemon ended during this request: it may have had its effect, and was not repeated; the next request gets a new daemon"}}`+"\n", id))
		}
	}
	return listeners
}

// reconnect connects to another daemon and restores the state of the session.
func (b *Bridge) reconnect(ctx context.Context, listeners map[string][]byte) (io.WriteCloser, *bufio.Reader) {
	for ctx.Err() == nil {
		conn, br := b.replacement(ctx)
		if err := b.replay(conn, br, listeners); err != nil {
			_ = conn.Close()
			b.losses = append(b.losses, time.Now())
			continue
		}
		b.mu.Lock()
		b.conn = conn
		close(b.ready)
		select {
		case <-b.wanted:
		default:
		}
		greeted := b.initialized
		b.mu.Unlock()
		if greeted { // its tools may differ
			_ = b.write([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"))
		}
		return conn, br
	}
	return nil, nil
}

// replacement returns a connection to another daemon, or to a broker in this process if
// no daemon is available.
func (b *Bridge) replacement(ctx context.Context) (io.WriteCloser, *bufio.Reader) {
	if n := len(b.losses); n < maxLosses || time.Since(b.losses[n-maxLosses]) > lossTime {
		conn, br, err := b.connect(ctx)
		if err == nil {
			return conn, br
		}
		b.Say("serving without a daemon from now on: %v", err)
	} else {
		b.Say("serving without a daemon from now on: it ended %d times within %v", maxLosses, lossTime)
	}
	in, toBroker := io.Pipe()
	fromBroker, out := io.Pipe()
	go func() {
		err := b.InProcess(ctx, in, out)
		_ = in.Close()
		_ = out.CloseWithError(err)
	}()
	return toBroker, bufio.NewReaderSize(fromBroker, 64<<10)
}

// replay initializes a new daemon like the first one, and restores its listeners.
func (b *Bridge) replay(conn io.Writer, br *bufio.Reader, listeners map[string][]byte) error {
	b.mu.Lock()
	hello, id, greeted := b.initialize, b.begun, b.initialized
	if hello != nil && !greeted {
		b.pending[id] = nil
	}
	maps.Copy(b.pending, listeners)
	b.mu.Unlock()
	if hello != nil {
		if _, err := conn.Write(hello); err != nil {
			return err
		}
	}
	if greeted {
		for h := (head{}); !h.response() || h.id != id; { // the client already has this answer
			line, size, err := lines.Read(br, maxAnswerBytes)
			if err != nil || size > maxAnswerBytes {
				return cmp.Or(err, io.ErrUnexpectedEOF)
			}
			h = scan(line)
		}
		if _, err := io.WriteString(conn, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
			return err
		}
	}
	for _, line := range listeners {
		if _, err := conn.Write(line); err != nil {
			return err
		}
	}
	return nil
}
