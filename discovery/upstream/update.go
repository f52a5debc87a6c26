package upstream

import (
	"reflect"
	"runtime"
	"slices"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
)

// Update replaces the configured servers by configs, which must have different names.
// Unchanged servers stay, connected or not. New and changed ones are treated as by
// NewPool and, after Start, as by Start. Removed ones are stopped in the background,
// and calls to them fail with ErrClosed.
func (p *Pool) Update(configs []Config) {
	p.updating.Lock()
	defer p.updating.Unlock()
	old := p.roster.Load()
	next := &roster{byName: make(map[string]*server)}
	var added []*server
	kept := make(map[*server]bool)
	same := func(cfg Config) bool {
		s := old.byName[cfg.Name]
		return s != nil && reflect.DeepEqual(s.cfg, cfg.withDefaults())
	}
	makes := p.makers(slices.DeleteFunc(slices.Clone(configs), same))
	for _, cfg := range configs {
		s := old.byName[cfg.Name]
		if !same(cfg) {
			if s = p.ofBase(cfg); s == nil {
				s = makes[cfg.Name]()
			}
			added = append(added, s)
		}
		kept[s] = true
		next.servers = append(next.servers, s)
		next.byName[cfg.Name] = s
	}
	p.roster.Store(next)
	for _, s := range old.servers {
		if !kept[s] && p.owns(s) {
			s.retire()
		}
	}
	for _, s := range added {
		if s.inventory.isKnown() {
			p.announce(s)
		}
		if p.started.Load() {
			s.start()
		}
	}
	p.tell()
}

// makers returns a function for each config that makes its server with its stored
// listing. Several goroutines read and decode listings: a thousand tools take one of
// them 10 ms, which delays the first answer of a broker.
func (p *Pool) makers(configs []Config) map[string]func() *server {
	var keys []string
	for _, cfg := range configs {
		keys = append(keys, cfg.fingerprint())
	}
	shared := p.sharedListings(p.ctx, keys)
	makes := make(map[string]func() *server, len(configs))
	var reading sync.WaitGroup
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, cfg := range configs {
		var e cache.Entry
		var ok bool
		makes[cfg.Name] = func() *server { return newServer(p.common, cfg, e, ok, p.announce) }
		if p.opts.Base != nil && p.ofBase(cfg) != nil {
			continue // the server exists already
		}
		places <- struct{}{}
		reading.Go(func() {
			defer func() { <-places }()
			e, ok = p.restore(cfg.withDefaults(), shared[keys[i]])
		})
	}
	reading.Wait()
	return makes
}

// restore returns the stored listing of a server, from the pools that share it or from
// the cache.
func (p *Pool) restore(cfg Config, shared []byte) (cache.Entry, bool) {
	e, ok := cache.Decode(shared, cfg.Name)
	if !ok {
		return p.cache.Load(cfg.key())
	}
	if err := p.cache.Store(cfg.key(), shared); err != nil {
		p.opts.Logger.Warn("cannot store the listing", "server", cfg.Name, "err", err)
	}
	return e, true
}

// ofBase returns the server of the base with the configuration cfg, or nil if there is
// none or it must not be shared.
func (p *Pool) ofBase(cfg Config) *server {
	if p.opts.Base == nil || p.opts.Apart(cfg) {
		return nil
	}
	s := p.opts.Base.server(cfg.Name)
	if s == nil || !reflect.DeepEqual(s.cfg, cfg.withDefaults()) {
		return nil
	}
	return s
}

// crowds returns the instances of the servers that run a process for each person.
func (p *Pool) crowds() []crowd {
	var list []crowd
	for _, s := range p.servers() {
		if s.cfg.Command != "" && s.cfg.Credentials.OfPeople() {
			list = append(list, &s.instances)
		}
	}
	return list
}
