package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// A Capture receives the raw result of the request that is sent with its
// context, see WithCapture.
type Capture struct {
	// Raw is the result. It may be read once the SDK's call has returned without
	// an error.
	Raw json.RawMessage

	// AllowNaN reads invalid numbers such as NaN as null. Otherwise they make an answer
	// unreadable.
	AllowNaN bool

	// Undecoded makes the SDK's call return ErrCaptured in place of a decoded stand-in
	// once Raw is set: the SDK's decoder allocates 64 KiB for each result. Not on
	// Streamable HTTP, where the SDK reads the answer itself.
	Undecoded bool

	standIn func(result json.RawMessage) (shown json.RawMessage, keep bool)
	failure atomic.Pointer[AnswerError]
	refusal atomic.Pointer[jsonrpc.Error]
	status  atomic.Int32

	tee *tee       // where id is registered; nil on Streamable HTTP
	id  jsonrpc.ID // of the last request sent
}

// ErrCaptured is the error of the SDK's call when the result is in Capture.Raw.
var ErrCaptured = errors.New("the result was captured")

// NewCapture returns a capture. standIn is called with each result: the SDK is
// given what it returns instead, and Raw is set to the result if keep is true.
func NewCapture(standIn func(result json.RawMessage) (shown json.RawMessage, keep bool)) *Capture {
	return &Capture{standIn: standIn}
}

type captureKey struct{}

// WithCapture returns a context for one request, with c as the receiver of its result.
func WithCapture(ctx context.Context, c *Capture) context.Context {
	return context.WithValue(ctx, captureKey{}, c)
}

func captureFrom(ctx context.Context) *Capture {
	c, _ := ctx.Value(captureKey{}).(*Capture)
	return c
}

// Err returns an *AnswerError if an answer came and could not be read.
func (c *Capture) Err() error {
	if err := c.failure.Load(); err != nil {
		return err
	}
	return nil
}

// Refusal returns the error that the server answered with, or nil. The SDK confuses
// some codes, such as -32004, with its own for a closed connection.
func (c *Capture) Refusal() *jsonrpc.Error { return c.refusal.Load() }

// Status returns the HTTP status of an answer that is a message, or 0 without an answer
// or without HTTP.
func (c *Capture) Status() int { return int(c.status.Load()) }

// fail records that the answer cannot be read. c may be nil.
func (c *Capture) fail(err *AnswerError) {
	if c != nil {
		c.failure.Store(err)
	}
}

// repair returns an invalid answer as JSON if c allows its defect. c may be nil.
func (c *Capture) repair(text []byte) ([]byte, bool) {
	if c == nil || !c.AllowNaN {
		return nil, false
	}
	return withoutNaN(text)
}

// answered records the server's answer, and returns a result for the SDK to decode. c
// may be nil.
func (c *Capture) answered(resp *jsonrpc.Response) {
	if c == nil {
		return
	}
	if resp.Error == nil {
		resp.Result = c.take(resp.Result)
	} else if e, ok := errors.AsType[*jsonrpc.Error](resp.Error); ok {
		c.refusal.Store(e)
	}
}

func (c *Capture) take(result json.RawMessage) json.RawMessage {
	shown, keep := c.standIn(result)
	if keep {
		c.Raw = result
	}
	return shown
}

// A tee tracks the outstanding requests of a connection, and their captures.
type tee struct {
	mu      sync.Mutex
	byID    map[jsonrpc.ID]*Capture
	methods map[jsonrpc.ID]string // their methods
}

// sending registers a request before it is written.
func (t *tee) sending(ctx context.Context, m jsonrpc.Message) {
	req, ok := m.(*jsonrpc.Request)
	if !ok || !req.IsCall() && req.Method != methodCancelled {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !req.IsCall() {
		var params struct {
			RequestID any `json:"requestId"`
		}
		if json.Unmarshal(req.Params, &params) == nil {
			id, _ := jsonrpc.MakeID(params.RequestID) // of a request of the SDK
			delete(t.methods, id)
		}
		return
	}
	if t.methods == nil {
		t.methods = make(map[jsonrpc.ID]string)
	}
	t.methods[req.ID] = req.Method
	c := captureFrom(ctx)
	if c == nil {
		return
	}
	if t.byID == nil {
		t.byID = make(map[jsonrpc.ID]*Capture)
	}
	c.tee, c.id = t, req.ID
	t.byID[req.ID] = c
}

// unsent forgets a request that was not written and so gets no answer.
func (t *tee) unsent(m jsonrpc.Message) {
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
		t.mu.Lock()
		delete(t.methods, req.ID)
		t.mu.Unlock()
	}
}

// received replaces the result of m if its request has a capture.
func (t *tee) received(m jsonrpc.Message) {
	resp, ok := m.(*jsonrpc.Response)
	if !ok {
		return
	}
	t.mu.Lock()
	c := t.byID[resp.ID]
	opens := t.methods[resp.ID] == methodInitialize
	delete(t.byID, resp.ID)
	delete(t.methods, resp.ID)
	t.mu.Unlock()
	if opens && resp.Error == nil {
		resp.Result = knownVersion(resp.Result)
	}
	c.answered(resp)
	if c != nil && c.Undecoded && c.Raw != nil {
		resp.Result, resp.Error = nil, ErrCaptured
	}
}

// knownVersion replaces protocol 2024-10-07 in an answer to initialize by 2024-11-05,
// the oldest one that the SDK accepts. Tools work in the same way in both.
func knownVersion(result json.RawMessage) json.RawMessage {
	if !bytes.Contains(result, []byte(`"2024-10-07"`)) {
		return result
	}
	return replaceMembers(result, func(key string, value json.RawMessage) json.RawMessage {
		if key == "protocolVersion" && string(value) == `"2024-10-07"` {
			return json.RawMessage(`"2024-11-05"`)
		}
		return value
	})
}

// address replaces the id of an answer by that of the open request if the server has
// written a number as a string.
func (t *tee) address(resp *jsonrpc.Response) {
	number := numbered(resp.ID)
	if number == resp.ID {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, asText := t.methods[resp.ID]
	if _, open := t.methods[number]; open && !asText {
		resp.ID = number
	}
}

// unreadable returns the message that the SDK gets instead of invalid JSON: the
// repaired message if its capture allows that, or an error for an answer or a refused
// request. It returns nil if text is not a message.
func (t *tee) unreadable(text []byte) jsonrpc.Message {
	e, id, ok := unreadable(text)
	if !ok {
		return t.unversioned(text)
	}
	if e.method != nil {
		var method string
		if json.Unmarshal(e.method, &method) != nil {
			return nil
		}
		if odd, ok := marked(e.id); ok {
			id, _ = decodeID(odd) // a string
		}
		return &jsonrpc.Request{ID: id, Method: method, Params: refusedParams}
	}
	if !id.IsValid() && e.err != nil {
		id = t.refusedRequest(decodeError(e.err))
	} else if !id.IsValid() && e.result != nil {
		id = t.onlyRequest()
	}
	if !id.IsValid() {
		return nil
	}
	if e.err != nil && jsonscan.Valid(text) {
		return &jsonrpc.Response{ID: id, Error: decodeError(e.err)}
	}
	t.mu.Lock()
	c := t.byID[id]
	t.mu.Unlock()
	if fixed, ok := c.repair(text[bytes.IndexByte(text, '{'):]); ok {
		if m := decodeMessage(fixed); m != nil {
			return m
		}
	}
	err := &AnswerError{Why: whyUnreadable(text), Text: shown(text)}
	c.fail(err)
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}}
}

// unversioned returns the answer to an open request in text, which lacks the version of
// JSON-RPC, or nil.
func (t *tee) unversioned(text []byte) jsonrpc.Message {
	if !jsonscan.Valid(text) {
		return nil
	}
	resp := unversioned(text)
	if resp == nil {
		return nil
	}
	t.address(resp)
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, open := t.methods[resp.ID]; !open {
		return nil
	}
	return resp
}

// onlyRequest returns the id of the open request if there is exactly one, or an invalid
// id. A result without an id may also answer a request that was given up, so it fails
// the call.
func (t *tee) onlyRequest() (id jsonrpc.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.methods) == 1 {
		for id = range t.methods {
			return id
		}
	}
	return id
}

// refusedRequest returns the id of the request that an error without an id answers, or
// an invalid id if that is unknown. A server that cannot read a request does not know
// its id. Another error without one may concern a notification, unless only the probe
// was sent.
func (t *tee) refusedRequest(err error) (id jsonrpc.ID) {
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !ok || len(t.methods) != 1 {
		return id
	}
	for open, method := range t.methods {
		if rpc.Code == jsonrpc.CodeParseError || rpc.Code == jsonrpc.CodeInvalidRequest || method == methodDiscover {
			return open
		}
	}
	return id
}

// Release forgets a capture after its request was given up.
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

// A teeConn puts a tee on a connection of any type that the SDK does not inspect, such
// as that of SSE.
type teeConn struct {
	mcp.Connection
	tee *tee
}

func (c *teeConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err == nil {
		if resp, ok := m.(*jsonrpc.Response); ok {
			c.tee.address(resp)
		}
		c.tee.received(m)
	}
	return m, err
}

// Write sends a message. An error does not end the connection: the server may accept
// the next message.
func (c *teeConn) Write(ctx context.Context, m jsonrpc.Message) error {
	c.tee.sending(ctx, m)
	err := c.Connection.Write(ctx, m)
	if err != nil {
		c.tee.unsent(m)
	}
	if _, ok := errors.AsType[*StatusError](err); ok {
		return rejected(err)
	}
	if _, ok := errors.AsType[*SendError](err); ok {
		return rejected(err)
	}
	return err
}
