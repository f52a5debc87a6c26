package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/lines"
)

// maxFrameBytes bounds one message of a server; a longer one is skipped.
const maxFrameBytes = 64 << 20

const (
	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
)

// A stdioConn speaks newline-delimited JSON-RPC over a pair of pipes. Unlike
// the SDK's own connection it survives lines that are no messages, allows bigger
// frames, never lets a write to a server that does not read outlive its context,
// and answers the probe itself when the server stays silent.
type stdioConn struct {
	r         io.ReadCloser
	w         io.WriteCloser
	dropped   *ring
	probeWait time.Duration // how long the probe may go unanswered; 0: for ever
	maxFrame  int
	heard     func() // called with each message; may be nil

	tee    tee
	in     chan jsonrpc.Message // closed when reading ended, see readErr
	own    chan jsonrpc.Message // answers that the connection gives itself
	out    chan []byte
	closed chan struct{}
	close  func()

	readErr error // set before in is closed

	opening opening
}

// opening is what is outstanding while a session is opened.
type opening struct {
	mu           sync.Mutex
	discoverID   jsonrpc.ID
	initializeID jsonrpc.ID
	timer        *time.Timer // answers server/discover in the server's place
	silent       bool        // it had to
	answered     bool        // initialize was answered, well or not
}

// stdioTransport hands conn to the SDK.
type stdioTransport struct{ conn *stdioConn }

func (t stdioTransport) Connect(context.Context) (mcp.Connection, error) {
	t.conn.start()
	return t.conn, nil
}

func newStdioConn(r io.ReadCloser, w io.WriteCloser, dropped *ring, probeWait time.Duration) *stdioConn {
	c := &stdioConn{
		r: r, w: w, dropped: dropped, probeWait: probeWait, maxFrame: maxFrameBytes,
		in:     make(chan jsonrpc.Message, 16),
		own:    make(chan jsonrpc.Message, 1),
		out:    make(chan []byte, 16),
		closed: make(chan struct{}),
	}
	c.close = sync.OnceFunc(func() {
		close(c.closed)
		c.w.Close()
	})
	return c
}

// start begins reading and writing. Both goroutines end once the pipes do,
// which is the business of whoever owns the process.
func (c *stdioConn) start() {
	go c.readLoop()
	go c.writeLoop()
}

// SessionID returns "": there are no session ids on stdio.
func (c *stdioConn) SessionID() string { return "" }

// Close closes the server's stdin and unblocks Read and Write. The read end
// stays open, so that the server can finish what it is writing.
func (c *stdioConn) Close() error {
	c.close()
	c.opening.mu.Lock()
	defer c.opening.mu.Unlock()
	if c.opening.timer != nil {
		c.opening.timer.Stop()
	}
	return nil
}

// Read returns the next message.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-c.in:
		if !ok {
			return nil, c.readErr
		}
		c.tee.received(m)
		return m, nil
	case m := <-c.own:
		c.tee.received(m)
		return m, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write queues a message. A server that does not read its stdin fills the pipe
// and then the queue; Write then returns when ctx is done.
func (c *stdioConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	frame, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	c.tee.sending(ctx, m)
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
		c.watch(req)
	}
	select {
	case <-c.closed:
		return io.ErrClosedPipe
	default:
	}
	select {
	case c.out <- append(frame, '\n'):
		return nil
	case <-c.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch notes the requests that open a session and times the probe.
func (c *stdioConn) watch(req *jsonrpc.Request) {
	o := &c.opening
	o.mu.Lock()
	defer o.mu.Unlock()
	switch req.Method {
	case methodDiscover:
		o.discoverID = req.ID
		if c.probeWait > 0 && o.timer == nil {
			o.timer = time.AfterFunc(c.probeWait, c.answerProbe)
		}
	case methodInitialize:
		o.initializeID = req.ID
	}
}

// watched notes the answers to them.
func (c *stdioConn) watched(m jsonrpc.Message) {
	resp, ok := m.(*jsonrpc.Response)
	if !ok {
		return
	}
	o := &c.opening
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case resp.ID == o.discoverID && o.timer != nil:
		o.timer.Stop()
	case resp.ID == o.initializeID && resp.ID.IsValid():
		o.answered = true
	}
}

// answerProbe tells the SDK that the server does not know server/discover, so
// that it goes on with initialize. An answer that still comes is ignored.
func (c *stdioConn) answerProbe() {
	c.opening.mu.Lock()
	c.opening.silent = true
	id := c.opening.discoverID
	c.opening.mu.Unlock()
	select {
	case c.own <- &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeMethodNotFound, Message: "no answer to server/discover",
	}}:
	case <-c.closed:
	}
}

// stuck reports whether the server has answered neither the probe nor the
// initialize that followed it.
func (c *stdioConn) stuck() bool {
	c.opening.mu.Lock()
	defer c.opening.mu.Unlock()
	return c.opening.silent && !c.opening.answered
}

// initializeAnswered reports whether initialize was answered at all.
func (c *stdioConn) initializeAnswered() bool {
	c.opening.mu.Lock()
	defer c.opening.mu.Unlock()
	return c.opening.answered
}

func (c *stdioConn) writeLoop() {
	for {
		select {
		case frame := <-c.out:
			if _, err := c.w.Write(frame); err != nil {
				c.close()
				return
			}
		case <-c.closed:
			return
		}
	}
}

// readLoop turns lines into messages until the server's stdout ends.
func (c *stdioConn) readLoop() {
	defer close(c.in)
	defer c.r.Close()
	br := bufio.NewReaderSize(c.r, 64<<10)
	for {
		line, size, err := lines.Read(br, c.maxFrame)
		if size > c.maxFrame {
			c.skipped(line, size)
		} else if len(bytes.TrimSpace(line)) > 0 && !c.accept(line) {
			return
		}
		if err != nil {
			c.readErr = err
			return
		}
	}
}

// accept passes on the messages of one line; false means that the connection
// was closed meanwhile.
func (c *stdioConn) accept(line []byte) bool {
	messages, err := decodeFrame(line)
	if err != nil {
		c.dropped.add(bytes.TrimSpace(line))
		return true
	}
	if c.heard != nil {
		c.heard()
	}
	for _, m := range messages {
		c.watched(m)
		if !c.deliver(m) {
			return false
		}
	}
	return true
}

func (c *stdioConn) deliver(m jsonrpc.Message) bool {
	select {
	case c.in <- m:
		return true
	case <-c.closed:
		c.readErr = io.EOF
		return false
	}
}

// skipped reports a frame that was too big, to the call that waits for it if
// its id can be made out from the frame's beginning.
func (c *stdioConn) skipped(head []byte, size int) {
	text := fmt.Sprintf("skipped a message of %d bytes: the limit is %d", size, c.maxFrame)
	c.dropped.add([]byte(text))
	var raw []byte
	eachMember(head, func(key string, value json.RawMessage) {
		if key == "id" && raw == nil {
			raw = value
		}
	})
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(v); err == nil && id.IsValid() {
		c.deliver(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "result too large: " + text,
		}})
	}
}
