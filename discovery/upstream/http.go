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

	"github.com/mcpbroker/mcpbroker/internal/lines"
)

// deleteTimeout bounds the request that ends a session at the server. It is a
// courtesy, and the broker has to be gone in time.
const deleteTimeout = time.Second

// A remote is the HTTP side of one connection: it adds the configured headers,
// keeps them from other origins, remembers the last status and, for Streamable
// HTTP, is the tee.
type remote struct {
	origin  *url.URL
	headers map[string]string
	base    http.RoundTripper
	tee     bool
	status  atomic.Int32                 // of the last answer to a POST or to the first GET
	auth    auth.OAuthHandler            // signs requests; nil for none
	need    atomic.Pointer[SignInNeeded] // what auth said last, if that was that
}

// newRemote returns a client for endpoint. Its connections are its own, so that
// one server's trouble stays with it.
func newRemote(endpoint string, headers map[string]string, tee bool) (*http.Client, *remote, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, nil, errors.New("the url does not parse")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, nil, errors.New("the url must begin with http:// or https:// and name a host")
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = defaultMaxInFlight
	r := &remote{origin: u, headers: headers, base: base, tee: tee}
	return &http.Client{Transport: r}, r, nil
}

// close drops the idle connections.
func (r *remote) close() { r.base.(*http.Transport).CloseIdleConnections() }

// RoundTrip sends one request. Redirects come through here as well, each with
// its own URL.
func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := req.Context(), context.CancelFunc(nil)
	if req.Method == http.MethodDelete {
		ctx, cancel = context.WithTimeout(ctx, deleteTimeout)
		defer cancel() // its answer has no body worth reading
	}
	out := req.Clone(ctx)
	if sameOrigin(req.URL, r.origin) {
		for k, v := range r.headers {
			out.Header.Set(k, v)
		}
	} else {
		// Redirected elsewhere: what identifies us to the server stays with it.
		for _, k := range []string{"Authorization", "Cookie", "Mcp-Session-Id", "Proxy-Authorization"} {
			out.Header.Del(k)
		}
	}
	send := r.base.RoundTrip
	if r.auth != nil && sameOrigin(req.URL, r.origin) {
		send = r.authorized
	}
	resp, err := send(out)
	if err != nil {
		return nil, err
	}
	if req.Method == http.MethodPost || (req.Method == http.MethodGet && !r.tee) {
		r.status.Store(int32(resp.StatusCode))
	}
	if c := captureFrom(req.Context()); r.tee && c != nil && resp.StatusCode == http.StatusOK {
		return c.overHTTP(resp)
	}
	return resp, nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// overHTTP puts the capture on the body of a response: one message, or a stream
// of them in which the only response is that to the captured request.
func (c *capture) overHTTP(resp *http.Response) (*http.Response, error) {
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch mediaType {
	case "application/json":
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxFrameBytes+1))
		resp.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("read answer: %w", err)
		}
		if len(body) > maxFrameBytes {
			return nil, fmt.Errorf("answer is larger than %d bytes", maxFrameBytes)
		}
		body = c.swap(bytes.TrimPrefix(body, utf8BOM))
		resp.Body = io.NopCloser(bytes.NewReader(body))
		resp.ContentLength = int64(len(body))
		resp.Header.Del("Content-Length")
	case "text/event-stream":
		resp.Body = &eventTee{body: resp.Body, lines: bufio.NewReaderSize(resp.Body, 16<<10), swap: c.swap}
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
	lines   *bufio.Reader
	swap    func([]byte) []byte
	pending []byte // ready to be read
	err     error
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
	for {
		line, size, err := lines.Read(t.lines, maxFrameBytes)
		if size > maxFrameBytes || len(data)+len(line) > maxFrameBytes {
			t.err = fmt.Errorf("an event is larger than %d bytes", maxFrameBytes)
			return
		}
		if err != nil {
			t.err = err
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
