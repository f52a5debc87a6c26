package upstream

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/words"
)

const (
	minRelistDelay = 500 * time.Millisecond
	maxRelistDelay = 30 * time.Second

	// settleTime is how long after the first listing of a session a server may
	// take to register tools that it had before.
	settleTime = 3 * time.Second
)

// A relister spaces out the listings that a server asks for by saying that its
// tools changed: the first comes soon, later ones of a storm further and further
// apart. It is guarded by the server's mutex.
type relister struct {
	timer *time.Timer   // set while a listing is due
	sess  *session      // of which it is due; an earlier one's does not count
	done  chan struct{} // closed when that is over; nil if none is due
	// settling means that the server did not ask for the listing that is due: it
	// is to confirm the first one of a session.
	settling bool
	delay    time.Duration
	last     time.Time
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

// dueFor reports whether a listing of sess is due.
func (r *relister) dueFor(sess *session) bool { return r.timer != nil && r.sess == sess }

// toolsChanged is called when the server says that its tools changed.
func (s *server) toolsChanged(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case sess.Ended():
	case !s.relist.dueFor(sess): // what is said before the first listing is done is seen to afterwards
		s.relistLocked(sess, s.relist.due(time.Now()))
	case s.relist.settling && s.relist.timer.Stop(): // it need not be waited for any longer
		s.relist.settling = false
		s.relist.timer.Reset(s.relist.due(time.Now()))
	}
}

// relistLocked has sess listed again after a while; s.mu is held.
func (s *server) relistLocked(sess *session, after time.Duration) {
	done := make(chan struct{})
	over := func() {
		s.mu.Lock()
		if s.relist.done == done {
			s.relist.done = nil
		}
		s.mu.Unlock()
		close(done)
	}
	if s.relist.timer != nil {
		s.relist.timer.Stop() // that of a session that is gone
	}
	s.relist.done, s.relist.sess, s.relist.settling = done, sess, false
	s.relist.timer = time.AfterFunc(after, func() {
		if !s.pool.run(func(ctx context.Context) { defer over(); s.listAgain(ctx, sess) }) {
			over()
		}
	})
}

// listAgain lists a session again after its tools changed.
func (s *server) listAgain(ctx context.Context, sess *session) {
	select {
	case <-sess.listed: // one listing at a time
	case <-ctx.Done():
		return
	}
	s.mu.Lock()
	if s.sess != sess {
		s.mu.Unlock()
		return
	}
	s.relist.timer, s.relist.settling = nil, false
	s.relist.last = time.Now()
	s.mu.Unlock()
	if err := s.list(ctx, sess, s.cfg.StartTimeout); err != nil {
		s.log.Warn("cannot list changed tools", "err", err)
	}
	if s.parent == nil {
		s.listSkills(ctx, sess)
	}
}

// list fetches the tools of sess, keeps them on disk and makes them known.
func (s *server) list(ctx context.Context, sess *session, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer to tools/list for %s", words.Seconds(limit)))
	defer cancel()
	if s.parent != nil {
		return s.parent.hear(ctx, sess)
	}
	l, ttl, err := sess.List(ctx, s.cfg.Name)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return sess.Failed(err)
	}
	// Names of resources may be those of a person's documents.
	complete := s.cfg.Credentials.OfPeople() || sess.Offers(ctx, &l)
	l.Origin = s.origin(&l)
	sess.Hide.Listing(&l)
	s.taking.Lock()
	defer s.taking.Unlock()
	s.mu.Lock()
	sess.lists = true
	if !complete {
		l.Prompts, l.Resources = s.full.Prompts, s.full.Resources
	}
	s.expireLocked(sess, ttl, time.Now())
	l.Skills, l.SkillProblems = s.full.Skills, s.full.SkillProblems // they are listed after the tools
	if !closed(sess.listed) && s.known && sess.AnnouncesTools() {
		if whole, late := withLate(l, s.full); late {
			if !s.relist.dueFor(sess) {
				s.relistLocked(sess, settleTime)
				s.relist.settling = true
			}
			s.mu.Unlock()
			s.learn(whole) // and nothing is kept: the next listing decides
			return nil
		}
	}
	s.mu.Unlock()
	s.store(sess, l)
	s.learn(l)
	return nil
}

// withLate is the first listing of a session with the tools that the server had
// before and does not list now. Some register tools only when they have
// looked at their client or their surroundings, and say that their tools changed
// then. The order is the earlier one, so that a listing which has them all again
// is not a change.
func withLate(l, before discovery.Listing) (whole discovery.Listing, late bool) {
	now := make(map[string]discovery.ListedTool, len(l.Tools))
	for _, t := range l.Tools {
		now[t.Name] = t
	}
	var tools []discovery.ListedTool
	for _, old := range before.Tools {
		if t, ok := now[old.Name]; ok {
			old = t
			delete(now, t.Name)
		} else {
			late = true
		}
		tools = append(tools, old)
	}
	for _, t := range l.Tools {
		if _, isNew := now[t.Name]; isNew {
			tools = append(tools, t)
		}
	}
	l.Tools = tools
	return l, late
}

// settled waits for the listing of sess that is due, if there is one: after it,
// what is known is the server's last word.
func (s *server) settled(ctx context.Context, sess *session) {
	s.mu.Lock()
	done := s.relist.done
	s.mu.Unlock()
	if done == nil {
		return
	}
	patience := time.NewTimer(settleTime + s.cfg.StartTimeout)
	defer patience.Stop()
	select {
	case <-done:
	case <-sess.Gone():
	case <-ctx.Done():
	case <-s.ctx.Done():
	case <-patience.C:
	}
}

// store keeps a listing on disk, and for other brokers.
func (s *server) store(sess *session, l discovery.Listing) {
	entry := s.entry(sess, l)
	if err := s.pool.cache.Store(s.key, entry); err != nil {
		s.log.Warn("cannot store the listing", "err", err) // works all the same, the next start is slower
	}
	s.share(entry)
}

// entry is what is kept of s with a listing that sess gave.
func (s *server) entry(sess *session, l discovery.Listing) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cache.Entry{Era: sess.Era, Transport: sess.Transport, Asks: s.asks, Listing: l}.Encode()
}

// learn replaces the listing, and announces it if that changes anything.
func (s *server) learn(l discovery.Listing) {
	shown := s.cfg.described(l)
	s.mu.Lock()
	same := s.known && sameListing(s.shown, shown)
	s.full, s.shown, s.known = l, shown, true
	s.decideLocked()
	s.pool.learnt.Add(1) // before anybody can see them
	s.pool.tell()
	s.mu.Unlock()
	if !same {
		s.pool.announce(s)
	}
}

// origin is where a listing of s comes from; the hider has yet to see it.
func (s *server) origin(l *discovery.Listing) discovery.Origin {
	o := discovery.Origin{URL: s.cfg.URL, Version: l.Version}
	if s.cfg.Command == "" {
		return o
	}
	o.Command = launch.ByHand(s.cfg.Command, s.cfg.Args)
	if spec, err := packages.Parse(s.cfg.Command, s.cfg.Args); err == nil && s.pool.programs.Packages != nil && !s.cfg.AsWritten {
		o.Package = s.pool.programs.Packages.Version(spec)
	}
	return o
}

// sameListing reports whether two listings say the same.
func sameListing(a, b discovery.Listing) bool {
	return bytes.Equal(gate.Compact(a), gate.Compact(b))
}
