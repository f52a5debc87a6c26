package surface

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// maxLineBytes bounds one message of the client; a longer one is refused.
const maxLineBytes = 16 << 20

// A lineTransport speaks newline-delimited JSON-RPC with the client. The SDK's
// own ends the session, and with it every script, at the first line that is not a
// message; this one answers such a line with an error and goes on.
type lineTransport struct {
	id  string
	in  io.Reader
	out io.Writer
}

// ServeLines answers one client of s, a message on each line, until in ends or
// ctx is done. Peer is zero if there is only one.
func ServeLines(ctx context.Context, s *mcp.Server, peer Peer, in io.Reader, out io.Writer) error {
	session, err := s.Connect(context.WithValue(ctx, peerKey{}, peer), &lineTransport{peer.ID, in, out}, nil)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = session.Close() })
	defer stop()
	if err := session.Wait(); ctx.Err() == nil {
		return err
	}
	return ctx.Err()
}

func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{id: t.id, out: t.out, large: make(map[jsonrpc.ID]bool)}
	c.Lines = transport.NewLines(maxLineBytes, c.reject)
	// The goroutine ends with its input, or when the connection is closed and
	// one more line comes. Nothing can end a read of stdin.
	go c.From(t.in)
	return c, nil
}

// A lineConn does not close the streams, which are the process's.
type lineConn struct {
	*transport.Lines
	id string

	mu    sync.Mutex // guards the fields below
	out   io.Writer
	large map[jsonrpc.ID]bool // large requests in progress
	most  int                 // highest length of large
}

// Read returns the next message. It bounds the "_meta" of the first message and the
// size of the last one, which the SDK keeps (see release).
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Lines.Read(ctx)
		req, ok := m.(*jsonrpc.Request)
		if err != nil || !ok || len(req.Params) <= maxKeptBytes {
			return m, err
		}
		if !req.IsCall() {
			continue // notifications are never that long
		}
		var p struct {
			Meta json.RawMessage `json:"_meta"`
		}
		if json.Unmarshal(req.Params, &p) != nil || len(p.Meta) <= maxMetaBytes { // the SDK refuses invalid params
			c.mu.Lock()
			c.large[req.ID] = true
			c.most = max(c.most, len(c.large))
			c.mu.Unlock()
			return m, nil
		}
		why := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("_meta has %d bytes: use at most %d", len(p.Meta), maxMetaBytes)}
		if err := c.Write(ctx, &jsonrpc.Response{ID: req.ID, Error: why}); err != nil {
			return nil, err
		}
	}
}

// release replaces large messages in the queue by small ones after they were answered.
func (c *lineConn) release(m jsonrpc.Message) {
	answer, ok := m.(*jsonrpc.Response)
	if !ok {
		return
	}
	c.mu.Lock()
	large, places := c.large[answer.ID], 1
	delete(c.large, answer.ID)
	if large && len(c.large) == 0 { // the queue grows to twice what waits in it
		places, c.most = 2*c.most+2, 0
	}
	c.mu.Unlock()
	if !large {
		return // as nearly always, and decoding takes 64 KiB
	}
	if small, err := jsonrpc.DecodeMessage([]byte(nothing)); err == nil {
		go func() { // it ends with the connection
			for range places {
				_ = c.Deliver(small)
			}
		}()
	}
}

// SessionID tells the clients of one process apart.
func (c *lineConn) SessionID() string { return c.id }

// Write sends one message.
func (c *lineConn) Write(_ context.Context, m jsonrpc.Message) error {
	line, err := transport.EncodeMessage(shortError(m))
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	defer c.release(m)
	return c.writeLine(line)
}

func (c *lineConn) writeLine(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(line, '\n'))
	return err
}

// reject answers an invalid message. JSON-RPC 2.0 §5 requires the id null if the id is
// unknown, but a client waits for an answer with the id of its request.
func (c *lineConn) reject(text []byte, _ int, why error) error {
	code, message := jsonrpc.CodeInvalidRequest, fmt.Sprintf("%v: %s", why, gate.Cut(string(text), 80))
	switch {
	case errors.Is(why, transport.ErrTooLong):
		message = fmt.Sprintf("%v: the limit is %d bytes", why, maxLineBytes)
	case errors.Is(why, transport.ErrNotJSON):
		code = jsonrpc.CodeParseError
	}
	return c.writeLine(gate.Compact(map[string]any{
		"jsonrpc": "2.0", "id": transport.RequestID(text), "error": map[string]any{"code": code, "message": message},
	}))
}
