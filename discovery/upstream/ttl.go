package upstream

import (
	"encoding/json"
	"math/rand/v2"
	"time"
)

// minTTL keeps a server that says its tools are good for an instant from being
// listed before each call.
const minTTL = 30 * time.Second

// pageTTL is how long a page of tools is good for, as servers of protocol
// 2026-07-28 say in ttlMs; zero if it does not say, or says "not at all".
func pageTTL(page json.RawMessage) time.Duration {
	var p struct {
		TTL float64 `json:"ttlMs"`
	}
	if json.Unmarshal(page, &p) != nil || !(p.TTL > 0) {
		return 0
	}
	return time.Duration(min(p.TTL, float64((24*time.Hour).Milliseconds()))) * time.Millisecond
}

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
	if sess.staleAt.IsZero() || time.Now().Before(sess.staleAt) || s.relist.dueFor(sess) || sess.ended() {
		return
	}
	sess.staleAt = time.Time{} // the next listing says anew
	s.relistLocked(sess, 0)
}
