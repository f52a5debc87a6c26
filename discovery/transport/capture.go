package transport

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Capture receives the raw result of the request that is sent with its
// context, see WithCapture.
type Capture struct {
	// Raw is the result. It may be read once the SDK's call has returned without
	// an error.
	Raw json.RawMessage

	standIn func(result json.RawMessage) (shown json.RawMessage, keep bool)

	tee *tee       // where id is registered; nil on Streamable HTTP
	id  jsonrpc.ID // of the last request sent
}

// NewCapture returns a capture. standIn is called with each result: the SDK is
// given what it returns instead, and Raw is set to the result if keep is true.
func NewCapture(standIn func(result json.RawMessage) (shown json.RawMessage, keep bool)) *Capture {
	return &Capture{standIn: standIn}
}

type captureKey struct{}

// WithCapture returns a context with which one request is sent whose result c
// receives.
func WithCapture(ctx context.Context, c *Capture) context.Context {
	return context.WithValue(ctx, captureKey{}, c)
}

func captureFrom(ctx context.Context) *Capture {
	c, _ := ctx.Value(captureKey{}).(*Capture)
	return c
}

func (c *Capture) take(result json.RawMessage) json.RawMessage {
	shown, keep := c.standIn(result)
	if keep {
		c.Raw = result
	}
	return shown
}

// A tee knows which outstanding requests of a connection have a capture.
type tee struct {
	mu   sync.Mutex
	byID map[jsonrpc.ID]*Capture
}

// sending registers a request before it is written.
func (t *tee) sending(ctx context.Context, m jsonrpc.Message) {
	c := captureFrom(ctx)
	req, ok := m.(*jsonrpc.Request)
	if c == nil || !ok || !req.IsCall() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID = make(map[jsonrpc.ID]*Capture)
	}
	c.tee, c.id = t, req.ID
	t.byID[req.ID] = c
}

// received replaces the result of m if its request has a capture.
func (t *tee) received(m jsonrpc.Message) {
	resp, ok := m.(*jsonrpc.Response)
	if !ok {
		return
	}
	t.mu.Lock()
	c := t.byID[resp.ID]
	delete(t.byID, resp.ID)
	t.mu.Unlock()
	if c != nil && resp.Error == nil {
		resp.Result = c.take(resp.Result)
	}
}

// Release forgets a capture whose request was given up.
func (c *Capture) Release() {
	if c.tee == nil {
		return
	}
	c.tee.mu.Lock()
	defer c.tee.mu.Unlock()
	if c.tee.byID[c.id] == c {
		delete(c.tee.byID, c.id)
	}
}

// A teeConn puts a tee on a connection whose concrete type does not matter to
// the SDK, which is so for SSE.
type teeConn struct {
	mcp.Connection
	tee tee
}

func (c *teeConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err == nil {
		c.tee.received(m)
	}
	return m, err
}

func (c *teeConn) Write(ctx context.Context, m jsonrpc.Message) error {
	c.tee.sending(ctx, m)
	return c.Connection.Write(ctx, m)
}
