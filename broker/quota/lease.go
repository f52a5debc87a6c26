package quota

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// leaseTime is how long tokens are kept that were taken ahead.
	leaseTime = time.Second
	// pauseTime is how long a bucket is not asked again that was empty, unless it is
	// half full sooner.
	pauseTime = 250 * time.Millisecond
	// maxPause is how long at most: others may have given tokens back.
	maxPause = time.Second
	// askTime bounds one question to the buckets.
	askTime = 2 * time.Second
	// maxLease is how many tokens are taken ahead at most.
	maxLease = 1 << 16
)

// leases are the tokens that this process has taken ahead.
type leases struct {
	buckets state.Buckets
	// local counts while the buckets cannot be asked: what only reads goes on then, what
	// may change something does not.
	local alone
	log   *slog.Logger

	mu      sync.Mutex
	byKey   map[string]*lease
	closed  bool
	away    time.Time // the buckets are not asked before
	awayErr error

	stop chan struct{}
	done chan struct{}
}

// A lease is what this process has of one bucket.
type lease struct {
	mu     sync.Mutex // while the bucket is asked, too: one asks for all
	b      state.Bucket
	tokens int
	spent  int       // since until was set
	size   int       // how many to ask for
	until  time.Time // then the rest goes back
	empty  time.Time // the bucket is not asked before, and said to wait until next
	next   time.Time
	gone   bool // another one is to be made
}

func newLeases(buckets state.Buckets, log *slog.Logger) *leases {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &leases{buckets: buckets, log: log, byKey: make(map[string]*lease), stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		tick := time.NewTicker(leaseTime / 2)
		defer tick.Stop()
		for {
			select {
			case <-s.stop:
				s.end(true)
				return
			case <-tick.C:
				s.end(false)
			}
		}
	}()
	return s
}

// close gives all tokens back.
func (s *leases) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	close(s.stop)
	<-s.done
}

// locked is the lease of a bucket, with its lock.
func (s *leases) locked(b state.Bucket) *lease {
	for {
		s.mu.Lock()
		l := s.byKey[b.Key]
		if l == nil {
			l = &lease{size: 1}
			s.byKey[b.Key] = l
		}
		s.mu.Unlock()
		l.mu.Lock()
		if !l.gone {
			l.b = b // its rule may have changed
			return l
		}
		l.mu.Unlock()
	}
}

// take takes a token of a bucket, out of the lease if there is one left.
func (s *leases) take(ctx context.Context, b state.Bucket, write bool) (bool, time.Duration, error) {
	l := s.locked(b)
	defer l.mu.Unlock()
	if l.tokens == 0 {
		now := time.Now()
		if now.Before(l.empty) {
			return false, l.next.Sub(now), nil
		}
		if err := s.renew(ctx, l, now); err != nil {
			if write {
				return false, 0, &Unknown{err}
			}
			return s.local.take(ctx, b, write)
		}
		if l.tokens == 0 {
			return false, l.next.Sub(now), nil
		}
	}
	l.tokens--
	l.spent++
	return true, 0, nil
}

// renew asks the bucket; l.mu is held. Who has used up a lease early gets more with
// the next one.
func (s *leases) renew(ctx context.Context, l *lease, now time.Time) error {
	s.mu.Lock()
	away, err, closed := s.away, s.awayErr, s.closed
	s.mu.Unlock()
	if now.Before(away) {
		return err
	}
	if now.Before(l.until) {
		l.size = min(2*l.size, maxLease)
	}
	if closed {
		l.size = 1 // nothing is given back
	}
	// Others wait for the answer too, even after the caller is gone.
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	got, wait, err := s.buckets.TakeTokens(asking, l.b, l.size)
	if err != nil {
		s.mu.Lock()
		s.away, s.awayErr = time.Now().Add(leaseTime), err
		s.mu.Unlock()
		s.log.Warn("count quotas", "err", err)
		return err
	}
	l.tokens = got
	pause := min(pauseTime, time.Duration(float64(l.b.Burst)/l.b.Rate/2*float64(time.Second)))
	if got == 0 {
		l.next = now.Add(wait)
		l.empty = now.Add(min(max(wait, pause), maxPause))
		return nil
	}
	if got < l.size && float64(got) < l.b.Rate*pause.Seconds() { // it has what comes in, and no more
		l.next = now.Add(pause)
		l.empty = l.next
	}
	if !now.Before(l.until) {
		l.spent, l.until = 0, now.Add(leaseTime)
	}
	return nil
}

// back puts a token back into its lease.
func (s *leases) back(b state.Bucket) {
	l := s.locked(b)
	defer l.mu.Unlock()
	l.tokens++
	l.spent--
}

// end ends the expired leases, or all of them.
func (s *leases) end(all bool) {
	s.mu.Lock()
	list := slices.Collect(maps.Values(s.byKey))
	s.mu.Unlock()
	for _, l := range list {
		if all {
			l.mu.Lock()
		} else if !l.mu.TryLock() {
			continue // it is asked for at this moment
		}
		b, rest := s.rest(l, all)
		l.mu.Unlock()
		if rest > 0 && !s.giveBack(b, rest) {
			l.mu.Lock()
			l.tokens += rest
			l.mu.Unlock()
		}
	}
}

// rest takes out of a lease what is to be given back: when its time is over, what is
// more than was spent in it. One that was not used for a minute is forgotten. l.mu is
// held.
func (s *leases) rest(l *lease, all bool) (state.Bucket, int) {
	now := time.Now()
	if !all && now.Before(l.until) {
		return l.b, 0
	}
	keep := min(l.tokens, l.spent)
	if all {
		keep = 0
	}
	rest := l.tokens - keep
	l.tokens = keep
	l.size = max(1, l.spent)
	switch {
	case keep > 0:
		l.spent, l.until = 0, now.Add(leaseTime)
	case rest == 0 && now.Sub(l.until) > time.Minute && now.After(l.empty):
		l.gone = true
		s.mu.Lock()
		delete(s.byKey, l.b.Key)
		s.mu.Unlock()
	}
	return l.b, rest
}

// giveBack reports whether tokens are in their bucket again.
func (s *leases) giveBack(b state.Bucket, n int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	err := s.buckets.ReturnTokens(ctx, b, n)
	if err != nil {
		s.log.Warn("give back what quotas have left", "err", err)
	}
	return err == nil
}
