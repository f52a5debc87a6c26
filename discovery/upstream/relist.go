package upstream

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
)

const (
	minRelistDelay = 500 * time.Millisecond
	maxRelistDelay = 30 * time.Second
)

// A relister spaces out the listings that a server asks for by saying that its
// tools changed: the first comes soon, later ones of a storm further and further
// apart. It is guarded by the server's mutex.
type relister struct {
	timer *time.Timer // set while a listing is due
	delay time.Duration
	last  time.Time
}

// due returns how long to wait before the next listing.
func (r *relister) due(now time.Time) time.Duration {
	if r.delay == 0 || now.Sub(r.last) > 2*maxRelistDelay {
		r.delay = minRelistDelay
	} else {
		r.delay = min(2*r.delay, maxRelistDelay)
	}
	return r.delay
}

// toolsChanged is called when the server says that its tools changed.
func (s *server) toolsChanged(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// What is said before the first listing is done is seen to afterwards.
	if s.relist.timer != nil || sess.ended() {
		return
	}
	s.relist.timer = time.AfterFunc(s.relist.due(time.Now()), func() {
		s.pool.run(func(ctx context.Context) { s.listAgain(ctx, sess) })
	})
}

// listAgain lists a session whose tools changed.
func (s *server) listAgain(ctx context.Context, sess *session) {
	select {
	case <-sess.listed: // one listing at a time
	case <-ctx.Done():
		return
	}
	s.mu.Lock()
	s.relist.timer = nil
	s.relist.last = time.Now()
	live := s.sess == sess
	s.mu.Unlock()
	if !live {
		return
	}
	if err := s.list(ctx, sess, s.cfg.StartTimeout); err != nil {
		s.log.Warn("cannot list changed tools", "err", err)
	}
}

// list fetches the tools of sess, keeps them on disk and makes them known.
func (s *server) list(ctx context.Context, sess *session, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer to tools/list for %s", seconds(limit)))
	defer cancel()
	l, err := sess.list(ctx, s.cfg.Name)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return &dialError{err: sess.hide.inErr(err), stderr: s.stderr.last()}
	}
	s.mu.Lock()
	s.expireLocked(sess, time.Now())
	s.mu.Unlock()
	changes, fresh, err := s.pool.cache.compare(l, fmt.Sprint(sess.promised), time.Now())
	if err != nil {
		s.log.Warn("changes of tools not kept", "err", err)
	}
	l.Changes = changes
	entry := cacheEntry{Era: sess.era, Transport: sess.transport, Listing: l}
	if err := s.pool.cache.save(s.cfg, entry); err != nil {
		s.log.Warn("listing not kept", "err", err) // works all the same, the next start is slower
	}
	s.learn(l)
	if len(fresh) > 0 && s.pool.opts.OnChange != nil {
		s.pool.opts.OnChange(s.cfg.Name, fresh)
	}
	return nil
}

// learn replaces the listing and tells the pool's owner if that changes
// anything.
func (s *server) learn(l discovery.Listing) {
	shown := s.cfg.filter(l)
	s.mu.Lock()
	same := s.known && sameListing(s.shown, shown)
	s.full, s.shown, s.known = l, shown, true
	s.mu.Unlock()
	if !same {
		s.pool.announce(s)
	}
}
