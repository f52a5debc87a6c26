package upstream

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	minRelistDelay = 500 * time.Millisecond
	maxRelistDelay = 30 * time.Second

	// settleTime is how long after the first listing of a session a server may
	// take to register tools that it had before.
	settleTime = 3 * time.Second

	// minTTL keeps a server that says its tools are good for an instant from being
	// listed before each call.
	minTTL = 30 * time.Second
)

// A relister spaces out the listings that a server asks for by saying that its
// tools changed: the first comes soon, later ones of a storm further and further
// apart.
type relister struct {
	// list lists a session in the background and calls over at its end. It reports false
	// if that cannot be done.
	list func(sess *session, over func()) bool

	mu    sync.Mutex
	timer *time.Timer   // set while a listing is due
	sess  *session      // of which it is due; an earlier one's does not count
	done  chan struct{} // closed when that is over; nil if none is due
	// settling means that the server did not ask for the listing that is due: it
	// is to confirm the first one of a session.
	settling bool
	delay    time.Duration
	last     time.Time
}

// dueLocked returns how long to wait before the next listing; r.mu must be held.
func (r *relister) dueLocked(now time.Time) time.Duration {
	if r.delay == 0 || now.Sub(r.last) > 2*maxRelistDelay {
		r.delay = minRelistDelay
	} else {
		r.delay = min(2*r.delay, maxRelistDelay)
	}
	return r.delay
}

// dueForLocked reports whether a listing of sess is due; r.mu must be held.
func (r *relister) dueForLocked(sess *session) bool { return r.timer != nil && r.sess == sess }

// changed is called when the server says that its tools changed.
func (r *relister) changed(sess *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case sess.Ended():
	case !r.dueForLocked(sess): // what is said before the first listing is done is seen to afterwards
		r.planLocked(sess, r.dueLocked(time.Now()))
	case r.settling && r.timer.Stop(): // it need not be waited for any longer
		r.settling = false
		r.timer.Reset(r.dueLocked(time.Now()))
	}
}

// settle has sess listed again when the server has had time to register its tools.
func (r *relister) settle(sess *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dueForLocked(sess) {
		r.planLocked(sess, settleTime)
		r.settling = true
	}
}

// planLocked has sess listed again after a while; r.mu must be held.
func (r *relister) planLocked(sess *session, after time.Duration) {
	done := make(chan struct{})
	over := func() {
		r.mu.Lock()
		if r.done == done {
			r.done = nil
		}
		r.mu.Unlock()
		close(done)
	}
	if r.timer != nil {
		r.timer.Stop() // that of a session that is gone
	}
	r.done, r.sess, r.settling = done, sess, false
	r.timer = time.AfterFunc(after, func() {
		if !r.list(sess, over) {
			over()
		}
	})
}

// begin records that the listing that was due begins.
func (r *relister) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer, r.settling = nil, false
	r.last = time.Now()
}

// pending returns a channel that is closed when the listing that is due is over, or nil.
func (r *relister) pending() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// stop ends the timer.
func (r *relister) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
}

// expire notes when the listing of sess that was made now is old: after ttl, and a
// little later by chance, so that brokers do not ask in step.
func (r *relister) expire(sess *session, ttl time.Duration, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sess.staleAt = time.Time{}
	if ttl > 0 {
		ttl = max(ttl, minTTL)
		sess.staleAt = now.Add(ttl + rand.N(ttl/10+1))
	}
}

// used lists sess anew, in the background, when it is used after the time for which its
// tools were good.
func (r *relister) used(sess *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sess.staleAt.IsZero() || time.Now().Before(sess.staleAt) || r.dueForLocked(sess) || sess.Ended() {
		return
	}
	sess.staleAt = time.Time{} // the next listing says anew
	r.planLocked(sess, 0)
}
