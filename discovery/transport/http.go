package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

const (
	// maxHandshakeBytes bounds answers until a session is open.
	maxHandshakeBytes = 4 << 20
	// maxErrorBytes bounds the body of an answer that is not a success.
	maxErrorBytes = 1 << 20

	// deleteTimeout bounds the request that ends a session at the server. It is a
	// courtesy, and the broker has to be gone in time.
	deleteTimeout = time.Second
	// errorTimeout bounds how long the body of an answer takes that is neither
	// a message nor a stream of them. Calls have their own limits.
	errorTimeout = 30 * time.Second
	// streamWait bounds how long a server may leave open whether it has a stream
	// for what it says by itself. The SDK waits for it before anything else.
	streamWait = 10 * time.Second
	// MaxAnswers is how many answers to a server's own requests may be on their
	// way. One that takes none in gets no more.
	MaxAnswers = 64
)

// HTTPOptions are the settings of an HTTP.
type HTTPOptions struct {
	// SSE selects the transport of protocol 2024-11-05 in place of Streamable HTTP.
	SSE bool
	// Headers are sent with each request.
	Headers map[string]string
	// Auth signs requests; nil for none.
	Auth auth.OAuthHandler
	// StartTimeout is how long the server may take to start.
	StartTimeout time.Duration
	// MaxIdle is how many idle connections are kept.
	MaxIdle int
}

// An HTTP is the HTTP side of one connection to a server: it adds the configured
// headers, bounds what comes back, remembers the last status and, for Streamable
// HTTP, is the tee. It speaks to the origin of its server only.
type HTTP struct {
	o       HTTPOptions
	url     string
	client  *http.Client
	base    http.RoundTripper
	wait    time.Duration                // for the answer to a GET
	open    atomic.Bool                  // the handshake is over
	answers atomic.Int32                 // on their way
	life    context.Context              // of answers
	hangUp  context.CancelFunc           // ends life
	status  atomic.Int32                 // of the last answer to a POST or to the first GET
	need    atomic.Pointer[SignInNeeded] // what o.Auth said last, if that was that
}

// NewHTTP returns a connection to endpoint. Its network connections are its own,
// so that one server's trouble stays with it. Close must be called.
func NewHTTP(endpoint string, o HTTPOptions) (*HTTP, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("the url must begin with http:// or https:// and name a host")
	}
	c := outbound.New(outbound.Options{Home: u, HomeOnly: true, MaxBytes: MaxMessageBytes, Events: true, MaxIdle: o.MaxIdle})
	r := &HTTP{o: o, url: endpoint, base: c.Transport, wait: min(streamWait, o.StartTimeout/4)}
	r.life, r.hangUp = context.WithCancel(context.Background())
	c.Transport = r
	r.client = &c.Client
	return r, nil
}

// Connect opens the SDK's connection. With SSE it lives as long as ctx.
func (r *HTTP) Connect(ctx context.Context) (mcp.Connection, error) {
	if r.o.SSE {
		conn, err := (&mcp.SSEClientTransport{Endpoint: r.url, HTTPClient: r.client, MaxEventSize: MaxMessageBytes}).Connect(ctx)
		if err != nil {
			return nil, err
		}
		return &teeConn{Connection: conn}, nil
	}
	return (&mcp.StreamableClientTransport{Endpoint: r.url, HTTPClient: r.client, MaxEventSize: MaxMessageBytes}).Connect(ctx)
}

// Opened ends the handshake, after which answers may be larger.
func (r *HTTP) Opened() { r.open.Store(true) }

// Status is that of the last answer to a POST or to the first GET; zero if there
// was none.
func (r *HTTP) Status() int { return int(r.status.Load()) }

// HangUp drops the answers to the server that are on their way.
func (r *HTTP) HangUp() { r.hangUp() }

// Close drops what is on its way and the idle connections.
func (r *HTTP) Close() {
	r.hangUp()
	r.base.(interface{ CloseIdleConnections() }).CloseIdleConnections()
}

// RoundTrip sends one request. Redirects come through here as well, each with
// its own URL; those to another origin are refused by the base.
func (r *HTTP) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	out := req.Clone(ctx)
	for k, v := range r.o.Headers {
		out.Header.Set(k, v)
	}
	restoreBody(out)
	send := r.base.RoundTrip
	if r.o.Auth != nil {
		send = r.authorized
	}
	var late *time.Timer
	switch {
	case req.Method == http.MethodDelete:
		late = time.AfterFunc(deleteTimeout, cancel)
	case req.Method == http.MethodGet && !r.o.SSE:
		late = time.AfterFunc(r.wait, cancel)
	case isAnswer(req):
		defer r.answers.Add(-1)
		if r.answers.Add(1) > MaxAnswers {
			cancel()
			return nil, fmt.Errorf("the server has not read %d answers to its requests", MaxAnswers)
		}
		late = time.AfterFunc(errorTimeout, cancel)
		defer context.AfterFunc(r.life, cancel)() // the SDK waits for answers before it closes
	}
	resp, err := send(out)
	if late != nil && !late.Stop() && req.Method == http.MethodGet && req.Context().Err() == nil {
		resp, err = noStream(req, resp), nil
	}
	if err != nil {
		cancel()
		return nil, err
	}
	if req.Method == http.MethodPost || (req.Method == http.MethodGet && r.o.SSE) {
		r.status.Store(int32(resp.StatusCode))
	}
	r.bound(req, resp, cancel)
	if c := captureFrom(req.Context()); !r.o.SSE && c != nil && resp.StatusCode == http.StatusOK {
		return c.overHTTP(resp)
	}
	if outbound.IsEvents(resp) {
		resp.Body = newEventTee(resp.Body, MarkIDs)
	}
	return resp, nil
}

// isAnswer reports whether req carries an answer to the server. Calls and lists,
// which have a capture, are not looked into.
func isAnswer(req *http.Request) bool {
	if req.Method != http.MethodPost || req.GetBody == nil || captureFrom(req.Context()) != nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	message, err := io.ReadAll(body)
	return err == nil && scanEnvelope(message).method == nil
}

// noStream is the answer of a server that has no stream. It replaces one that did
// not come in time.
func noStream(req *http.Request, resp *http.Response) *http.Response {
	if resp != nil {
		resp.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusMethodNotAllowed, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: http.NoBody, Request: req,
	}
}

// bound bounds the body of resp, and calls cancel when it is closed. A message may
// take as long as the context of its request, and a stream lasts.
func (r *HTTP) bound(req *http.Request, resp *http.Response, cancel context.CancelFunc) {
	message := req.Method == http.MethodPost && resp.StatusCode == http.StatusOK
	switch {
	case outbound.IsEvents(resp) && (r.open.Load() || req.Method == http.MethodGet):
		resp.Body = outbound.Deadline(resp.Body, 0, cancel)
	case message && r.open.Load():
		resp.Body = outbound.Deadline(outbound.Limit(resp.Body, MaxMessageBytes), 0, cancel)
	case message:
		resp.Body = outbound.Deadline(outbound.Limit(resp.Body, maxHandshakeBytes), 0, cancel)
	default:
		resp.Body = outbound.Deadline(outbound.Limit(resp.Body, maxErrorBytes), errorTimeout, cancel)
	}
}

// overHTTP puts the capture on the body of a response: one message, or a stream
// of them in which the only response is that to the captured request.
func (c *Capture) overHTTP(resp *http.Response) (*http.Response, error) {
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch mediaType {
	case "application/json":
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("read answer: %w", err)
		}
		body = c.swap(bytes.TrimPrefix(body, utf8BOM))
		resp.Body = io.NopCloser(bytes.NewReader(body))
		resp.ContentLength = int64(len(body))
		resp.Header.Del("Content-Length")
	case "text/event-stream":
		resp.Body = newEventTee(resp.Body, c.swap)
		resp.ContentLength = -1
	}
	return resp, nil
}

// swap takes the result out of message if it is a response, and returns the
// message for the SDK.
func (c *Capture) swap(message []byte) []byte {
	if !json.Valid(message) {
		return message
	}
	e := scanEnvelope(message)
	if e.method != nil {
		return MarkIDs(message)
	}
	if e.result == nil || e.err != nil {
		return message
	}
	id, ok := decodeID(e.id)
	if !ok || !id.IsValid() {
		return message
	}
	out, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Result: c.take(e.result)})
	if err != nil {
		return message
	}
	return out
}

// An eventTee passes a stream of server-sent events on, with swap applied to
// the data of each.
type eventTee struct {
	body    io.ReadCloser
	room    *io.LimitedReader // of body, for one event
	lines   *bufio.Reader     // of room
	swap    func([]byte) []byte
	pending []byte // ready to be read
	err     error
}

func newEventTee(body io.ReadCloser, swap func([]byte) []byte) *eventTee {
	room := &io.LimitedReader{R: body}
	return &eventTee{body: body, room: room, lines: bufio.NewReaderSize(room, 16<<10), swap: swap}
}

func (t *eventTee) Close() error { return t.body.Close() }

func (t *eventTee) Read(p []byte) (int, error) {
	for len(t.pending) == 0 {
		if t.err != nil {
			return 0, t.err
		}
		t.next()
	}
	n := copy(p, t.pending)
	t.pending = t.pending[n:]
	return n, nil
}

// next reads one event into pending. An event that the stream breaks off in is
// not passed on, as the specification of server-sent events has it.
func (t *eventTee) next() {
	var event, data []byte
	hasData := false
	t.room.N = MaxMessageBytes
	for {
		line, err := t.lines.ReadBytes('\n')
		if err != nil {
			if t.err = err; t.room.N == 0 {
				t.err = fmt.Errorf("an event is larger than %d bytes", MaxMessageBytes)
			}
			return
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		switch {
		case !ok:
			event = append(append(event, line...), '\n')
		case hasData:
			data = append(append(data, '\n'), bytes.TrimPrefix(value, []byte(" "))...)
		default:
			data, hasData = bytes.TrimPrefix(value, []byte(" ")), true
		}
	}
	if hasData {
		data = t.swap(data)
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			event = slices.Concat(event, []byte("data: "), line, []byte("\n"))
		}
	}
	t.pending = append(event, '\n')
}
