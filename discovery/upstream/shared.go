package upstream

import (
	"context"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
)

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
				for _, s := range p.servers() {
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
	for _, s := range p.servers() {
		if key := s.cfg.fingerprint(); p.owns(s) && which(key) && !s.inventory.shareAgain(ctx) {
			servers[key], keys = s, append(keys, key)
		}
	}
	for key, body := range p.sharedListings(ctx, keys) {
		if e, ok := cache.Decode(body, servers[key].cfg.Name); ok {
			servers[key].takeOver(e, body)
		}
	}
}
