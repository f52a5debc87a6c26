package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the SDK gets to decode in place of a result that was captured. A list is
// not quite empty sometimes, see listForSDK.
const (
	standInCall = `{"content":[],"resultType":"complete"}`
	standInList = `{"tools":[],"resultType":"complete"}`
)

type resultKind int

const (
	callResult resultKind = iota
	listResult
)

// A capture receives the raw result of the request that is sent with its
// context. raw may be read once the SDK's call has returned without an error.
type capture struct {
	kind resultKind
	raw  json.RawMessage

	tee *tee       // where id is registered; nil on Streamable HTTP
	id  jsonrpc.ID // of the last request sent
}

type captureKey struct{}

func withCapture(ctx context.Context, c *capture) context.Context {
	return context.WithValue(ctx, captureKey{}, c)
}

func captureFrom(ctx context.Context) *capture {
	c, _ := ctx.Value(captureKey{}).(*capture)
	return c
}

// take keeps the raw result and returns what the SDK is given instead. A result
// that asks for input is not kept: answering it is the SDK's work, and the
// retry that follows is captured again.
func (c *capture) take(result json.RawMessage) json.RawMessage {
	switch {
	case c.kind == listResult:
		c.raw = result
		return listForSDK(result)
	case asksForInput(result):
		return result
	}
	c.raw = result
	return json.RawMessage(standInCall)
}

// asksForInput reports whether a tool result is one of protocol 2026-07-28
// that wants the client to answer something first.
func asksForInput(result json.RawMessage) bool {
	if !bytes.Contains(result, []byte(`"input_required"`)) {
		return false
	}
	asks := false
	eachMember(result, func(key string, value json.RawMessage) {
		if key == "resultType" {
			asks = string(value) == `"input_required"`
		}
	})
	return asks
}

// listForSDK is the stand-in for a page of tools. The SDK needs to know those
// tools whose schema asks for arguments to be mirrored in HTTP headers; it gets
// their names and schemas, so that nothing else in them can fail the page.
func listForSDK(page json.RawMessage) json.RawMessage {
	if !bytes.Contains(page, []byte(`"x-mcp-header"`)) {
		return json.RawMessage(standInList)
	}
	type tool struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	out := struct {
		Tools      []tool `json:"tools"`
		ResultType string `json:"resultType"`
	}{Tools: []tool{}, ResultType: "complete"}
	raw, _, _ := splitPage(page)
	for _, r := range raw {
		var t tool
		if bytes.Contains(r, []byte(`"x-mcp-header"`)) && json.Unmarshal(r, &t) == nil && json.Unmarshal(r, new(mcp.Tool)) == nil {
			out.Tools = append(out.Tools, t)
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(standInList)
	}
	return b
}

// A tee knows which outstanding requests of a connection have a capture.
type tee struct {
	mu   sync.Mutex
	byID map[jsonrpc.ID]*capture
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
		t.byID = make(map[jsonrpc.ID]*capture)
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

// release forgets a capture whose request was given up.
func (c *capture) release() {
	if c.tee == nil {
		return
	}
	c.tee.mu.Lock()
	defer c.tee.mu.Unlock()
	if c.tee.byID[c.id] == c {
		delete(c.tee.byID, c.id)
	}
}

// teeTransport puts a tee on a connection whose concrete type does not matter
// to the SDK, which is so for SSE.
type teeTransport struct{ mcp.Transport }

func (t teeTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &teeConn{Connection: conn}, nil
}

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
