package upstream

import (
	"context"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
)

const (
	// sharedTime is how long the pool waits for what brokers keep together.
	sharedTime = 3 * time.Second
	// othersTime is how long a server that was never listed is left to the broker
	// that lists.
	othersTime = 10 * time.Second
)

// Listings are listings that the pools of several brokers share, under keys that
// identify the configuration of a server. They are safe for concurrent use.
type Listings interface {
	// Listings returns what is kept under keys, without those that have nothing.
	Listings(ctx context.Context, keys []string) (map[string][]byte, error)
	// SetListing keeps a listing for all.
	SetListing(ctx context.Context, key string, listing []byte) error
	// Follow calls heard with each key under which something else is kept, and with
	// "" when that may be any, or Options.Lists has changed, until stop is called.
	// heard does not block.
	Follow(heard func(key string)) (stop func())
}

// lists reports whether this pool connects to servers to list them.
func (p *Pool) lists() bool { return p.opts.Lists == nil || p.opts.Lists() }

// sharedListings returns the shared listings by their keys, or nil if there are none or they
// cannot be read.
func (p *Pool) sharedListings(ctx context.Context, keys []string) map[string][]byte {
	if p.opts.Listings == nil || len(keys) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sharedTime)
	defer cancel()
	all, err := p.opts.Listings.Listings(ctx, keys)
	if err != nil {
		p.opts.Logger.Warn("cannot read shared listings", "err", err)
	}
	return all
}

// Stored returns what a server that is not in use has listed before, from the CacheDir or
// the shared listings. It starts nothing.
func (p *Pool) Stored(cfg Config) (discovery.Listing, bool) {
	e, ok := p.cache.Load(cfg.key())
	if shared := p.sharedListings(p.ctx, []string{cfg.fingerprint()})[cfg.fingerprint()]; !ok && shared != nil {
		e, ok = cache.Decode(shared, cfg.Name)
	}
	return e.Listing, ok
}

// follow makes this pool know what others list.
func (p *Pool) follow() {
	if p.opts.Listings == nil {
		return
	}
	var mu sync.Mutex
	heard, all, wake := map[string]bool{}, false, make(chan struct{}, 1)
	stop := p.opts.Listings.Follow(func(key string) {
		mu.Lock()
		defer mu.Unlock()
		if heard[key] = true; key == "" {
			all = true
		}
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	p.run(func(ctx context.Context) {
		defer stop()
		for {
			select {
			case <-wake:
			case <-ctx.Done():
				return
			}
			mu.Lock()
			keys, any := heard, all
			heard, all = map[string]bool{}, false
			mu.Unlock()
			p.take(ctx, func(key string) bool { return any || keys[key] })
			if any && p.started.Load() && p.lists() {
				for _, s := range p.roster.Load().servers {
					s.start()
				}
			}
		}
	})
}

// take takes over what is kept of the servers with some keys.
func (p *Pool) take(ctx context.Context, which func(key string) bool) {
	servers := map[string]*server{}
	var keys []string
	for _, s := range p.roster.Load().servers {
		if key := s.cfg.fingerprint(); s.pool == p && which(key) && !s.shareAgain(ctx) {
			servers[key], keys = s, append(keys, key)
		}
	}
	for key, body := range p.sharedListings(ctx, keys) {
		if e, ok := cache.Decode(body, servers[key].cfg.Name); ok {
			servers[key].takeOver(e, body)
		}
	}
}

// takeOver makes the listing of another broker that of s.
func (s *server) takeOver(e cache.Entry, body []byte) {
	s.taking.Lock()
	defer s.taking.Unlock()
	s.mu.Lock()
	same := s.known && s.asks == e.Asks && sameListing(s.full, e.Listing)
	if !same {
		s.rememberLocked(e)
	}
	s.mu.Unlock()
	if same {
		return
	}
	if err := s.pool.cache.Store(s.key, body); err != nil {
		s.log.Warn("cannot store the listing", "err", err)
	}
	s.learn(e.Listing)
}

// rememberLocked knows what is kept of s, beside its tools; s.mu is held.
func (s *server) rememberLocked(e cache.Entry) {
	s.asks = s.asks || e.Asks
	if s.attempt == nil && s.sess == nil {
		s.dial.Era, s.dial.Transport = e.Era, e.Transport
		s.era, s.kind = e.Era, e.Listing.Transport
	}
	if s.state == StateIdle {
		s.setState(StateCached, nil, "")
	}
}

// share keeps an entry for all brokers, or as soon as that is possible.
func (s *server) share(body []byte) {
	if s.pool.opts.Listings == nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.pool.ctx, sharedTime)
	defer cancel()
	err := s.pool.opts.Listings.SetListing(ctx, s.cfg.fingerprint(), body)
	if err != nil {
		s.log.Warn("cannot share the listing", "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unshared = nil; err != nil {
		s.unshared = body
	}
}

// shareAgain shares what could not be shared before. It reports whether there was
// something.
func (s *server) shareAgain(ctx context.Context) bool {
	s.taking.Lock()
	defer s.taking.Unlock()
	s.mu.Lock()
	body := s.unshared
	s.mu.Unlock()
	if body == nil || ctx.Err() != nil {
		return false
	}
	s.share(body)
	return true
}

// leaveLocked leaves a server that was never listed to the broker that lists, for a
// while; s.mu is held.
func (s *server) leaveLocked() {
	if s.retryTimer != nil {
		s.retryTimer.Stop()
	}
	s.retryTimer = time.AfterFunc(othersTime, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.known && s.sess == nil && !s.retired {
			_, _ = s.joinLocked(false) // the attempt records how it went
		}
	})
}
