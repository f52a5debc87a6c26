package upstream

import (
	"math/rand/v2"
	"time"
)

// minTTL keeps a server that says its tools are good for an instant from being
// listed before each call.
const minTTL = 30 * time.Second

// expireLocked notes when the listing of sess that was made now is old: after
// ttl, and a little later by chance, so that brokers do not ask in step; s.mu is
// held.
func (s *server) expireLocked(sess *session, ttl time.Duration, now time.Time) {
	sess.staleAt = time.Time{}
	if ttl > 0 {
		ttl = max(ttl, minTTL)
		sess.staleAt = now.Add(ttl + rand.N(ttl/10+1))
	}
}

// relistIfStale lists sess anew, in the background, when it is used after the
// time for which its tools were good.
func (s *server) relistIfStale(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sess.staleAt.IsZero() || time.Now().Before(sess.staleAt) || s.relist.dueFor(sess) || sess.Ended() {
		return
	}
	sess.staleAt = time.Time{} // the next listing says anew
	s.relistLocked(sess, 0)
}
