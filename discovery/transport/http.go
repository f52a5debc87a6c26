package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
	// Auth signs requests; it may be nil.
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
	o         HTTPOptions
	url       string
	client    *http.Client
	base      http.RoundTripper
	wait      time.Duration                // for the answer to a GET
	connected atomic.Bool                  // the handshake is over
	answers   atomic.Int32                 // on their way
	life      context.Context              // of answers
	hangUp    context.CancelFunc           // ends life
	status    atomic.Int32                 // of the last answer to a POST or to the first GET
	gone      atomic.Bool                  // the server does not know the session
	tee       tee                          // of SSE
	need      atomic.Pointer[SignInNeeded] // what o.Auth said last, if that was that
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
	if err := outbound.CheckHost(u); err != nil {
		return nil, err
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
		return &teeConn{Connection: conn, tee: &r.tee}, nil
	}
	return (&mcp.StreamableClientTransport{Endpoint: r.url, HTTPClient: r.client, MaxEventSize: MaxMessageBytes}).Connect(ctx)
}

// Opened ends the handshake, after which answers may be larger.
func (r *HTTP) Opened() { r.connected.Store(true) }

// maxBytes returns the largest size that a message may have now.
func (r *HTTP) maxBytes() int64 {
	if r.connected.Load() {
		return MaxMessageBytes
	}
	return maxHandshakeBytes
}

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

// RoundTrip sends one request. Redirects also come through here, each with its own URL;
// the base refuses those to another origin.
//
// The SDK ends its connection, and with it every call, on most responses outside the
// protocol. RoundTrip limits the effect of a response to its own request. A call gets a
// message or fails with a *StatusError, an *AnswerError or a *SendError. A message that
// needs no answer counts as received. The optional stream of a session continues or
// stays closed.
func (r *HTTP) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case http.MethodGet:
		return r.get(req)
	case http.MethodDelete:
		if r.gone.Load() {
			return emptyAnswer(req, http.StatusNoContent), nil
		}
		return r.send(req, nil)
	}
	m := outgoingOf(req)
	resp, err := r.send(req, m)
	if err != nil {
		if _, ok := errors.AsType[SignInNeeded](err); ok && !m.call {
			return emptyAnswer(req, http.StatusAccepted), nil
		}
		return nil, &SendError{err}
	}
	r.status.Store(int32(resp.StatusCode))
	switch {
	case isRedirect(resp): // the client follows it, with another round trip
		return resp, nil
	case !m.call:
		resp.Body.Close()
		return emptyAnswer(req, http.StatusAccepted), nil
	case r.o.SSE && resp.StatusCode < 300:
		return resp, nil
	}
	return r.answered(req, m, resp)
}

// isRedirect reports whether resp redirects its request.
func isRedirect(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// get opens a stream: that of a session over SSE, or else the optional one.
func (r *HTTP) get(req *http.Request) (*http.Response, error) {
	resp, err := r.send(req, nil)
	if from := req.Response; from != nil && from.Request.Method == http.MethodPost {
		if err != nil {
			return nil, &SendError{err}
		}
		resp.Body.Close()
		return nil, &StatusError{Status: from.StatusCode, Text: "it turns a POST into a GET"}
	}
	if r.o.SSE {
		if err != nil {
			return nil, &SendError{err}
		}
		r.status.Store(int32(resp.StatusCode))
		if resp.StatusCode == http.StatusOK {
			resp.Body = &sseFilter{events: newEventReader(resp.Body, r.maxBytes), tee: &r.tee}
		}
		return resp, nil
	}
	switch {
	case req.Context().Err() != nil:
		return nil, req.Context().Err()
	case err != nil:
		return emptyAnswer(req, http.StatusMethodNotAllowed), nil
	case isRedirect(resp):
		return resp, nil
	case resp.StatusCode != http.StatusOK || !outbound.IsEvents(resp):
		resp.Body.Close()
		return emptyAnswer(req, http.StatusMethodNotAllowed), nil
	}
	resp.Body = newStream(r, req, resp.Body, nil)
	return resp, nil
}

// openStream asks for a stream like that of like, after the event last.
func (r *HTTP) openStream(like *http.Request, last string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(like.Context(), http.MethodGet, r.url, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version"} {
		if v := like.Header.Get(name); v != "" {
			req.Header.Set(name, v)
		}
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := r.send(req, nil)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK && outbound.IsEvents(resp) {
		return resp, nil
	}
	return resp, statusError(resp, nil)
}

// send sends one request with the common headers, and bounds the response.
func (r *HTTP) send(req *http.Request, m *outgoing) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	out := req.Clone(ctx)
	for k, v := range r.o.Headers {
		out.Header.Set(k, v)
	}
	restoreBody(out)
	send := r.base.RoundTrip
	if r.o.Auth != nil {
		send = func(out *http.Request) (*http.Response, error) { return r.authorized(out, m) }
	}
	var late *time.Timer
	switch {
	case req.Method == http.MethodDelete:
		late = time.AfterFunc(deleteTimeout, cancel)
	case req.Method == http.MethodGet && !r.o.SSE:
		late = time.AfterFunc(r.wait, cancel)
	case m != nil && m.answer:
		defer r.answers.Add(-1)
		if r.answers.Add(1) > MaxAnswers {
			cancel()
			return nil, fmt.Errorf("the server has not read %d answers to its requests", MaxAnswers)
		}
		late = time.AfterFunc(errorTimeout, cancel)
		defer context.AfterFunc(r.life, cancel)() // the SDK waits for answers before it closes
	}
	resp, err := send(out)
	if late != nil && !late.Stop() && err == nil && req.Context().Err() == nil {
		resp.Body.Close()
		err = errLate
	}
	if err != nil {
		cancel()
		return nil, err
	}
	r.bound(req, resp, cancel)
	return resp, nil
}

var errLate = errors.New("no answer in time")

// An outgoing describes the message in a request to the server.
type outgoing struct {
	method string
	id     jsonrpc.ID
	call   bool // message is a call
	answer bool // message is an answer
	modern bool // protocol 2026-07-28 or later
}

// maxHead bounds the beginning of a message that must contain its id and method, in
// bytes.
const maxHead = 1 << 10

// outgoingOf reads the beginning of the message in req.
func outgoingOf(req *http.Request) *outgoing {
	m := &outgoing{modern: req.Header.Get("Mcp-Method") != ""}
	if req.GetBody == nil {
		return m
	}
	body, err := req.GetBody()
	if err != nil {
		return m
	}
	defer body.Close()
	head := make([]byte, maxHead)
	n, _ := io.ReadFull(body, head) // the SDK writes the id and the method first
	e := scanEnvelope(head[:n])
	id, ok := decodeID(e.id)
	m.id = id
	if e.method == nil {
		m.answer = true
		return m
	}
	_ = json.Unmarshal(e.method, &m.method) // written by the SDK
	m.call = ok && id.IsValid()
	return m
}

// emptyAnswer returns a response without a body that did not come from the server.
func emptyAnswer(req *http.Request, status int) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: http.NoBody, Request: req,
	}
}

// bound bounds the body of resp, and calls cancel when it is closed. A message may
// take as long as the context of its request, and a stream lasts.
func (r *HTTP) bound(req *http.Request, resp *http.Response, cancel context.CancelFunc) {
	message := req.Method == http.MethodPost && resp.StatusCode == http.StatusOK
	switch {
	case outbound.IsEvents(resp) && (r.connected.Load() || req.Method == http.MethodGet):
		resp.Body = outbound.Deadline(resp.Body, 0, cancel)
	case message:
		resp.Body = outbound.Deadline(outbound.Limit(resp.Body, r.maxBytes()), 0, cancel)
	default:
		resp.Body = outbound.Deadline(outbound.Limit(resp.Body, maxErrorBytes), errorTimeout, cancel)
	}
}
