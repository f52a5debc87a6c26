package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Servers forget sessions: HTTP servers when they are deployed, stdio servers when a
// watcher restarts the program behind the pipes. The protocol has HTTP 404 for this,
// but others answer 400, or a JSON-RPC error with various codes and any text. So after
// a refusal that may mean a lost session, the broker calls tools/list, which the
// session answered before. If that is refused in the same way, the session is gone, and
// the broker opens a new one.

// probeTime bounds the check whether a session exists.
const probeTime = 10 * time.Second

// forgotten reports whether err, the error of a call in sess, means that the server has
// lost the session, and whether the call can be repeated because nothing has run.
func (s *server) forgotten(ctx context.Context, sess *session, err error) (gone, again bool) {
	said, may := link.DenialIn(err)
	if !may || sess.Era != link.EraLegacy {
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
	now, refused := link.DenialIn(s.probe(ctx, sess))
	if !refused || !now.Like(said) {
		return false, false
	}
	return true, said.Unsent
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
		if _, refused := link.DenialIn(p.err); refused || p.n > before {
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
	p.err = sess.Probe(ctx)
}

// retire ends a session that its server has lost. Calls in progress that are not
// refused finish first: over HTTP they have their own connections.
func (s *server) retire(ctx context.Context, sess *session, err error) {
	if sess.Transport != "http" {
		s.endSession(ctx, sess, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sess.leaving = true // until its last call is released
	if s.sess == sess && !s.retired && !s.pool.closing() {
		s.lostLocked(sess, sess.Hide.InErr(err))
	}
}

// errForgotten wraps the error of a session that its server has lost.
func errForgotten(err error) error {
	return fmt.Errorf("the server no longer knows the session: %w", err)
}
