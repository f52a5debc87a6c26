package upstream

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
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

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
	// maxAnswers is how many answers to a server's own requests may be on their
	// way. One that takes none in gets no more.
	maxAnswers = 64
)

// A remote is the HTTP side of one connection: it adds the configured headers,
// bounds what comes back, remembers the last status and, for Streamable HTTP, is
// the tee. It speaks to the origin of its server only.
type remote struct {
	headers map[string]string
	base    http.RoundTripper
	tee     bool
	wait    time.Duration                // for the answer to a GET
	open    atomic.Bool                  // the handshake is over
	answers atomic.Int32                 // on their way
	life    context.Context              // of answers
	hangUp  context.CancelFunc           // ends life
	status  atomic.Int32                 // of the last answer to a POST or to the first GET
	auth    auth.OAuthHandler            // signs requests; nil for none
	need    atomic.Pointer[SignInNeeded] // what auth said last, if that was that
}

// newRemote returns a client for endpoint. Its connections are its own, so that
// one server's trouble stays with it. startTimeout is that of the server.
func newRemote(endpoint string, headers map[string]string, tee bool, startTimeout time.Duration) (*http.Client, *remote, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, nil, errors.New("the url does not parse")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, nil, errors.New("the url must begin with http:// or https:// and name a host")
	}
	c := outbound.New(outbound.Options{Home: u, HomeOnly: true, MaxBytes: maxFrameBytes, Events: true, MaxIdle: defaultMaxInFlight})
	r := &remote{headers: headers, base: c.Transport, tee: tee, wait: min(streamWait, startTimeout/4)}
	r.life, r.hangUp = context.WithCancel(context.Background())
	c.Transport = r
	return &c.Client, r, nil
}

// close drops what is on its way and the idle connections.
func (r *remote) close() {
	r.hangUp()
	r.base.(interface{ CloseIdleConnections() }).CloseIdleConnections()
}

// RoundTrip sends one request. Redirects come through here as well, each with
// its own URL; those to another origin are refused by the base.
func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	out := req.Clone(ctx)
	for k, v := range r.headers {
		out.Header.Set(k, v)
	}
	send := r.base.RoundTrip
	if r.auth != nil {
		send = r.authorized
	}
	var late *time.Timer
	switch {
	case req.Method == http.MethodDelete:
		late = time.AfterFunc(deleteTimeout, cancel)
	case req.Method == http.MethodGet && r.tee:
		late = time.AfterFunc(r.wait, cancel)
	case isAnswer(req):
		defer r.answers.Add(-1)
		if r.answers.Add(1) > maxAnswers {
			cancel()
			return nil, fmt.Errorf("the server has left %d answers to its requests waiting", maxAnswers)
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
	if req.Method == http.MethodPost || (req.Method == http.MethodGet && !r.tee) {
		r.status.Store(int32(resp.StatusCode))
	}
	r.bound(req, resp, cancel)
	if c := captureFrom(req.Context()); r.tee && c != nil && resp.StatusCode == http.StatusOK {
		return c.overHTTP(resp)
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
func (r *remote) bound(req *http.Request, resp *http.Response, cancel context.CancelFunc) {
	message := req.Method == http.MethodPost && resp.StatusCode == http.StatusOK
	switch {
	case outbound.IsEvents(resp) && (r.open.Load() || req.Method == http.MethodGet):
		resp.Body = outbound.Deadline(resp.Body, 0, cancel)
	case message && r.open.Load():
		resp.Body = outbound.Deadline(outbound.Limit(resp.Body, maxFrameBytes), 0, cancel)
	case message:
		resp.Body = outbound.Deadline(outbound.Limit(resp.Body, maxHandshakeBytes), 0, cancel)
	default:
		resp.Body = outbound.Deadline(outbound.Limit(resp.Body, maxErrorBytes), errorTimeout, cancel)
	}
}

// overHTTP puts the capture on the body of a response: one message, or a stream
// of them in which the only response is that to the captured request.
func (c *capture) overHTTP(resp *http.Response) (*http.Response, error) {
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
func (c *capture) swap(message []byte) []byte {
	if !json.Valid(message) {
		return message
	}
	e := scanEnvelope(message)
	if e.method != nil || e.result == nil || e.err != nil {
		return message
	}
	var idValue any
	if e.id == nil || json.Unmarshal(e.id, &idValue) != nil {
		return message
	}
	id, err := jsonrpc.MakeID(idValue)
	if err != nil {
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
	t.room.N = maxFrameBytes
	for {
		line, err := t.lines.ReadBytes('\n')
		if err != nil {
			if t.err = err; t.room.N == 0 {
				t.err = fmt.Errorf("an event is larger than %d bytes", maxFrameBytes)
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

// An httpStatusError is an HTTP answer that ended an attempt.
type httpStatusError struct{ status int }

func (e *httpStatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the server answered HTTP %d %s", e.status, http.StatusText(e.status)))
}
