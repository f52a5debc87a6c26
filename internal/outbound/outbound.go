// Package outbound creates the HTTP clients for all connections of the broker: to MCP servers,
// authorization servers, hosts of skills. No other package creates one.
//
// Responses are not trusted. Every body is bounded after decoding, and so is the time of an
// exchange. A client has a home, the address that the user configured. Redirects, and addresses in
// metadata, may lead elsewhere, but never into networks that are closer to this machine than home,
// and never from https to http. The checked address is the one that is connected to, whatever DNS
// returns later.
package outbound

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	maxRedirects   = 5
	maxHeaderBytes = 1 << 20
)

// Options configure a client. Home and MaxBytes are required.
type Options struct {
	// Home is the address that the user configured.
	Home *url.URL
	// HomeOnly refuses every other origin, in redirects and in answers of Home.
	HomeOnly bool
	// MaxBytes bounds a body after decoding. A longer one is a *SizeError.
	MaxBytes int64
	// Events leaves streams of server-sent events unbounded: their reader bounds each event.
	Events bool
	// Timeout bounds an exchange with its body; zero leaves it to the context.
	Timeout time.Duration
	// MaxIdle bounds the idle connections; zero means two.
	MaxIdle int
}

// A Client is an http.Client with the limits of its Options. A request with
// another method than GET or HEAD follows redirects only if HomeOnly is set.
type Client struct {
	http.Client
	guard *guard
}

// New returns a client.
func New(o Options) *Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = o.MaxIdle
	base.MaxResponseHeaderBytes = maxHeaderBytes
	g := newGuard(o.Home)
	if !o.HomeOnly { // otherwise the user has named every address that it connects to
		g.put(base)
	}
	c := &Client{guard: g}
	c.Timeout = o.Timeout
	c.Transport = &transport{Transport: base, o: o, guard: g}
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		last := via[len(via)-1]
		switch {
		case !o.HomeOnly && via[0].Method != http.MethodGet && via[0].Method != http.MethodHead:
			return http.ErrUseLastResponse // a form would go to another host
		case len(via) > maxRedirects:
			return fmt.Errorf("more than %d redirects", maxRedirects)
		case last.URL.Scheme == "https" && req.URL.Scheme != "https":
			return &RedirectError{To: Origin(req.URL), why: "is not https"}
		case !SameOrigin(last.URL, req.URL):
			for _, k := range []string{"Authorization", "Cookie", "Proxy-Authorization"} {
				req.Header.Del(k)
			}
		}
		return nil
	}
	return c
}

// Check returns an error if an address other than home must not be used, as far as is known
// without resolving its host.
func (c *Client) Check(u *url.URL) error { return c.guard.checkName(u) }

type transport struct {
	*http.Transport
	o     Options
	guard *guard
}

// RoundTrip sends one request. It also handles redirects, each with its own URL.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.o.HomeOnly && !SameOrigin(req.URL, t.o.Home) {
		return nil, &RedirectError{To: Origin(req.URL), why: "is another origin"}
	}
	if err := CheckHost(req.URL); err != nil {
		return nil, err
	}
	if err := t.guard.checkName(req.URL); err != nil && !t.o.HomeOnly {
		return nil, err
	}
	resp, err := t.Transport.RoundTrip(req)
	if err != nil {
		return nil, explainTLS(req.URL.Host, err)
	}
	if !t.o.Events || !IsEvents(resp) {
		resp.Body = Limit(resp.Body, t.o.MaxBytes)
	}
	return resp, nil
}

// IsEvents reports whether resp is a stream of server-sent events.
func IsEvents(resp *http.Response) bool {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return resp.StatusCode == http.StatusOK && strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

// A RedirectError reports that a server leads to a refused address.
type RedirectError struct {
	To  string // an origin, such as https://example.com
	why string
}

// Error names the origin.
func (e *RedirectError) Error() string {
	return fmt.Sprintf("the server leads to %s, which %s", e.To, e.why)
}

// A SizeError means that a body has more bytes than allowed.
type SizeError struct{ Max int64 }

// Error names the limit.
func (e *SizeError) Error() string {
	if e.Max >= 1<<20 {
		return fmt.Sprintf("the answer is larger than %d MiB", e.Max>>20)
	}
	return fmt.Sprintf("the answer is larger than %d bytes", e.Max)
}

// Limit returns body, which fails with a *SizeError after max bytes.
func Limit(body io.ReadCloser, max int64) io.ReadCloser {
	return &limited{ReadCloser: body, left: max, max: max}
}

type limited struct {
	io.ReadCloser
	left, max int64
}

func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.ReadCloser.Read(p)
	if int64(n) <= l.left {
		l.left -= int64(n)
		return n, err
	}
	n, l.left = int(l.left), 0
	return n, &SizeError{Max: l.max}
}

// Deadline returns body, which calls cancel when it is closed, or after d. cancel must end the
// request. A zero d is unlimited.
func Deadline(body io.ReadCloser, d time.Duration, cancel func()) io.ReadCloser {
	t := &timed{ReadCloser: body, cancel: cancel}
	if d > 0 {
		t.timer = time.AfterFunc(d, cancel)
	}
	return t
}

type timed struct {
	io.ReadCloser
	timer  *time.Timer // nil without a limit
	cancel func()
}

func (t *timed) Close() error {
	if t.timer != nil {
		t.timer.Stop()
	}
	err := t.ReadCloser.Close()
	t.cancel()
	return err
}

// Cause returns the cause of a client's error, without the address that net/http adds: it may
// contain a key.
func Cause(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// Origin is the scheme and host of u: what can be shown of an address of which
// the rest may be secret.
func Origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// SameOrigin reports whether a and b have scheme, host and port in common.
func SameOrigin(a, b *url.URL) bool {
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
