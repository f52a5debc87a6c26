package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/listing"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
)

// Servers forget sessions: HTTP servers when they are deployed, stdio servers when a
// watcher restarts the program behind the pipes. The protocol has HTTP 404 for this,
// but others answer 400, or a JSON-RPC error with various codes and any text. So after
// a refusal that may mean a lost session, the broker calls tools/list, which the
// session answered before. If that is refused in the same way, the session is gone, and
// the broker opens a new one.

// probeTime bounds the check whether a session exists.
const probeTime = 10 * time.Second

// A denial is an answer that may mean that a session is gone.
type denial struct {
	status int   // of HTTP; zero for a JSON-RPC error
	code   int64 // of JSON-RPC
	// unsent is set if the tool cannot have run, since the request itself was refused.
	unsent bool
}

// denialIn returns the denial in err, or false if err cannot mean that a session is
// gone.
func denialIn(err error) (r denial, ok bool) {
	status := 0
	if e, is := errors.AsType[*transport.StatusError](err); is {
		status = e.Status
	} else if e, is := errors.AsType[*refusedError](err); is {
		status = e.status
	}
	if status != 0 {
		switch status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
			http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
			return r, false
		}
		// A gateway may answer 500 with the refusal of a server behind it.
		return denial{status: status, unsent: status < 500}, status >= 400 && status <= 500
	}
	e, is := errors.AsType[*jsonrpc.Error](err)
	if !is {
		return r, false
	}
	switch e.Code {
	case jsonrpc.CodeInvalidRequest, jsonrpc.CodeInvalidParams, -32002: // nothing has run; the last is "not initialized"
		return denial{code: e.Code, unsent: true}, true
	case -32000, -32001, 0: // libraries use these for any error
		return denial{code: e.Code}, true
	}
	return r, false
}

// forgotten reports whether err, the error of a call in sess, means that the server has
// lost the session, and whether the call can be repeated because nothing has run.
func (s *server) forgotten(ctx context.Context, sess *session, err error) (gone, again bool) {
	said, may := denialIn(err)
	if !may || sess.era != eraLegacy {
		return false, false
	}
	select {
	case <-sess.listed:
	case <-ctx.Done():
		return false, false
	}
	s.mu.Lock()
	lists := sess.lists || s.parent != nil // the shared instance lists the tools
	s.mu.Unlock()
	if !lists { // a new session would refuse it too
		return errors.Is(err, mcp.ErrSessionMissing), true
	}
	now, refused := denialIn(s.probe(ctx, sess))
	if !refused || now.status != said.status || now.code != said.code {
		return false, false
	}
	return true, said.unsent
}

// A probe is one check whether a session exists.
type probe struct {
	n    int           // number of the session's probe, from 1
	done chan struct{} // closed at the end
	err  error         // of tools/list, valid when done is closed
}

// probe requests the first page of tools and returns the error. Concurrent refused
// calls share a probe: each uses one that began after its own refusal, or one that was
// refused.
func (s *server) probe(ctx context.Context, sess *session) error {
	s.mu.Lock()
	before := 0
	if sess.probe != nil {
		before = sess.probe.n
	}
	for {
		p := sess.probe
		if p == nil || p.n <= before && closed(p.done) {
			p = &probe{n: before + 1, done: make(chan struct{})}
			if !s.pool.run(func(ctx context.Context) { s.runProbe(ctx, sess, p) }) {
				s.mu.Unlock()
				return ErrClosed
			}
			sess.probe = p
		}
		s.mu.Unlock()
		select {
		case <-p.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if _, refused := denialIn(p.err); refused || p.n > before {
			return p.err
		}
		s.mu.Lock()
	}
}

// runProbe makes the request of p.
func (s *server) runProbe(ctx context.Context, sess *session, p *probe) {
	ctx, cancel := context.WithTimeout(ctx, min(probeTime, s.cfg.CallTimeout))
	defer cancel()
	defer close(p.done)
	var reader listing.Reader
	var ttl time.Duration
	p.err = sess.use("tools/list", func() error {
		_, _, err := sess.page(ctx, "", &reader, &ttl)
		return err
	})
}

// retire ends a session that its server has lost. Calls in progress that are not
// refused finish first: over HTTP they have their own connections.
func (s *server) retire(ctx context.Context, sess *session, err error) {
	if sess.transport != "http" {
		s.endSession(ctx, sess, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sess.leaving = true // until its last call is released
	if s.sess == sess && !s.retired && !s.pool.closing() {
		s.lostLocked(sess, sess.hide.InErr(err))
	}
}

// errForgotten wraps the error of a session that its server has lost.
func errForgotten(err error) error {
	return fmt.Errorf("the server no longer knows the session: %w", err)
}
