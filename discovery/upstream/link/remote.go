package link

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
)

// maxIdle is how many idle connections to a remote server are kept: as many as calls run at
// once by default.
const maxIdle = 16

// dialRemote opens a session to a URL.
func (d *Dialer) dialRemote(ctx context.Context, t *Target) (*Session, error) {
	kind := d.Server.Type
	if kind == "" {
		kind = d.Transport
	}
	if kind == "sse" {
		return d.openSSE(ctx, t)
	}
	s, status, err := d.openHTTP(ctx, t, d.Era)
	if err != nil && ctx.Err() == nil && errors.Is(err, errProbeSilent) {
		d.Era = EraLegacy
		s, status, err = d.openHTTP(ctx, t, EraLegacy)
	}
	if err == nil {
		d.Transport = "http"
		return s, nil
	}
	if kind == "" && (status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
		if s, sseErr := d.openSSE(ctx, t); sseErr == nil {
			d.Transport = "sse"
			return s, nil
		}
	}
	return nil, err
}

// remote is the HTTP side of a connection that is about to be opened.
func (d *Dialer) remote(t *Target, sse bool) (*transport.HTTP, error) {
	signer, err := d.oauth(t)
	if err != nil {
		return nil, err
	}
	r, err := transport.NewHTTP(t.URL, transport.HTTPOptions{
		SSE: sse, Headers: t.Headers, Auth: signer, StartTimeout: d.Server.Timeout, MaxIdle: maxIdle,
	})
	if err != nil {
		return nil, &Error{Err: err, Hint: `correct "url"`}
	}
	return r, nil
}

// openHTTP opens a session over Streamable HTTP and returns the last status
// seen with an error.
func (d *Dialer) openHTTP(ctx context.Context, t *Target, e Era) (*Session, int, error) {
	r, err := d.remote(t, false)
	if err != nil {
		return nil, 0, err
	}
	s := newSession(t.Hide)
	s.Transport, s.hangUp, s.cleanup = "http", r.HangUp, r.Close
	attempt := ctx
	if e == EraUnknown {
		var cancel context.CancelFunc
		attempt, cancel = context.WithTimeout(ctx, d.Server.Timeout/2)
		defer cancel()
	}
	defer context.AfterFunc(attempt, r.HangUp)() // or closing would wait for answers
	err = d.handshake(attempt, s, r, e)
	if err == nil {
		r.Opened()
		return s, 0, nil
	}
	r.Close()
	if attempt.Err() != nil && ctx.Err() == nil {
		return nil, 0, errProbeSilent
	}
	return nil, r.Status(), signInError(r, err)
}

// openSSE opens a session over the transport of protocol 2024-11-05.
func (d *Dialer) openSSE(ctx context.Context, t *Target) (*Session, error) {
	r, err := d.remote(t, true)
	if err != nil {
		return nil, err
	}
	s := newSession(t.Hide)
	s.Transport, s.hangUp = "sse", r.HangUp
	// The stream lives as long as the context that it was opened with, so that
	// must not be the attempt's. An attempt that is given up ends it.
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	s.cleanup = func() { end(context.Canceled); r.Close() }
	err = d.handshake(life, s, r, EraLegacy)
	if err == nil && !stop() {
		err = context.Cause(ctx)
	}
	r.Opened()
	if err != nil {
		if s.mcp != nil {
			s.mcp.Close()
		}
		s.cleanup()
		return nil, signInError(r, err)
	}
	return s, nil
}

// oauth returns the handler for requests to t, or nil if the configuration has its own
// Authorization. It returns the same handler while the address stays the same, since
// the handler remembers refused tokens.
func (d *Dialer) oauth(t *Target) (auth.OAuthHandler, error) {
	if d.Server.OAuth == nil {
		return nil, nil
	}
	for k := range t.Headers {
		if strings.EqualFold(k, "Authorization") {
			return nil, nil
		}
	}
	if d.signIn == nil || d.signInURL != t.URL {
		h, err := d.Server.OAuth(t.URL)
		if err != nil {
			return nil, &Error{Err: err, Hint: `check "oauth" of the server`}
		}
		d.signIn, d.signInURL = h, t.URL
	}
	return d.signIn, nil
}
