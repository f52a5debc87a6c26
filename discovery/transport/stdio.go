package transport

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxMessageBytes bounds one message of a server; a longer one is skipped.
const MaxMessageBytes = 64 << 20

const (
	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
	methodCancelled  = "notifications/cancelled"
)

// StdioOptions are the settings of a Stdio.
type StdioOptions struct {
	// Dropped is called with each line that is not a message, and with a text
	// about each that is too long.
	Dropped func(line []byte)
	// ProbeWait is how long server/discover may go unanswered; zero: forever.
	ProbeWait time.Duration
	// MaxBytes bounds one message; zero means MaxMessageBytes.
	MaxBytes int
}

// A Stdio speaks newline-delimited JSON-RPC with a server over a pair of pipes. Unlike
// the SDK's own connection it survives invalid lines, allows larger ones, ends a write
// to a server that does not read with its context, and answers the probe itself if the
// server stays silent.
type Stdio struct {
	*Lines
	r   io.ReadCloser
	w   io.WriteCloser
	o   StdioOptions
	tee tee
	out chan []byte

	opening  opening
	settles  bool
	settling settler
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

// NewStdio returns a connection over r and w, which it closes.
func NewStdio(r io.ReadCloser, w io.WriteCloser, o StdioOptions) *Stdio {
	c := &Stdio{r: r, w: w, o: o, out: make(chan []byte, 16)}
	c.Lines = NewLines(cmp.Or(o.MaxBytes, MaxMessageBytes), c.reject)
	c.Accept = c.watched
	return c
}

// Connect begins reading and writing. Both goroutines end once the pipes do,
// which the owner of the process sees to.
func (c *Stdio) Connect(context.Context) (mcp.Connection, error) {
	go func() {
		defer c.r.Close()
		c.From(c.r)
	}()
	go c.writeLoop()
	return c, nil
}

// Close closes the server's stdin and unblocks Read and Write. The read end
// stays open, so that the server can finish what it is writing.
func (c *Stdio) Close() error {
	_ = c.Lines.Close() // it never fails
	_ = c.w.Close()     // closed already, or of no use
	c.opening.mu.Lock()
	defer c.opening.mu.Unlock()
	if c.opening.timer != nil {
		c.opening.timer.Stop()
	}
	return nil
}

// Read returns the next message that the SDK may see.
func (c *Stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Lines.Read(ctx)
		if err != nil {
			return nil, err
		}
		if m = vet(m); m != nil {
			if c.settles {
				c.settling.read(ctx, m)
			}
			c.tee.received(m)
			return m, nil
		}
	}
}

// Write queues a message. A server that does not read its stdin fills the pipe
// and then the queue; Write then returns when ctx is done.
func (c *Stdio) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	frame, err := EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	c.tee.sending(ctx, m)
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
		c.watch(req)
	}
	select {
	case <-c.Closed():
		return io.ErrClosedPipe
	default:
	}
	select {
	case c.out <- append(frame, '\n'):
		return nil
	case <-c.Closed():
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch notes the requests that open a session and times the probe.
func (c *Stdio) watch(req *jsonrpc.Request) {
	o := &c.opening
	o.mu.Lock()
	defer o.mu.Unlock()
	switch req.Method {
	case methodDiscover:
		o.discoverID = req.ID
		if c.o.ProbeWait > 0 && o.timer == nil {
			o.timer = time.AfterFunc(c.o.ProbeWait, c.answerProbe)
		}
	case methodInitialize:
		o.initializeID = req.ID
	}
}

// watched notes the answers to them.
func (c *Stdio) watched(m jsonrpc.Message) {
	resp, ok := m.(*jsonrpc.Response)
	if !ok {
		return
	}
	c.tee.address(resp)
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

// answerProbe answers that the server does not know server/discover, so
// that it goes on with initialize. An answer that still comes is ignored.
func (c *Stdio) answerProbe() {
	c.opening.mu.Lock()
	c.opening.silent = true
	id := c.opening.discoverID
	c.opening.mu.Unlock()
	_ = c.Deliver(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{ // else it is closed
		Code: jsonrpc.CodeMethodNotFound, Message: "no answer to server/discover",
	}})
}

// Stuck reports whether the server has answered neither the probe nor the
// initialize that followed it.
func (c *Stdio) Stuck() bool {
	c.opening.mu.Lock()
	defer c.opening.mu.Unlock()
	return c.opening.silent && !c.opening.answered
}

// InitializeAnswered reports whether initialize was answered at all.
func (c *Stdio) InitializeAnswered() bool {
	c.opening.mu.Lock()
	defer c.opening.mu.Unlock()
	return c.opening.answered
}

func (c *Stdio) writeLoop() {
	for {
		select {
		case frame := <-c.out:
			if _, err := c.w.Write(frame); err != nil {
				c.Close()
				return
			}
		case <-c.Closed():
			return
		}
	}
}

// reject handles a line that is not a single message: it logs the line and passes on
// the messages in it. A message that cannot be read, or is too long, is reported to
// the call that waits for it, if its id can be read.
func (c *Stdio) reject(text []byte, size int, why error) error {
	if !errors.Is(why, ErrTooLong) {
		c.o.Dropped(bytes.TrimSpace(text))
		messages := messagesIn(text)
		if len(messages) == 0 {
			if m := c.tee.unreadable(text); m != nil {
				messages = append(messages, m)
			}
		}
		for _, m := range messages {
			c.watched(m)
			if err := c.Deliver(m); err != nil {
				return err
			}
		}
		return nil
	}
	problem := fmt.Sprintf("skipped a message of %d bytes: the limit is %d", size, c.MaxBytes)
	c.o.Dropped([]byte(problem))
	var raw []byte
	roughMembers(text, func(key string, value json.RawMessage) {
		if key == "id" && raw == nil {
			raw = value
		}
	})
	id, ok := decodeID(raw)
	if !ok || !id.IsValid() {
		return nil
	}
	return c.Deliver(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeInternalError, Message: "result too large: " + problem,
	}})
}
