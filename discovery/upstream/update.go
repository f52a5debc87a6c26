package upstream

import (
	"context"
	"reflect"
)

// A roster is the configured servers. It is replaced, never edited.
type roster struct {
	servers []*server
	byName  map[string]*server
}

// Update makes configs, whose names must differ, the configured servers. Those
// that have not changed stay as they are, connected or not. New and changed ones
// are treated as by NewPool and, after Start, as by Start. What is no longer
// configured is stopped in the background, and calls to it fail with ErrClosed.
func (p *Pool) Update(configs []Config) {
	p.updating.Lock()
	defer p.updating.Unlock()
	old := p.roster.Load()
	next := &roster{byName: make(map[string]*server)}
	var added []*server
	kept := make(map[*server]bool)
	for _, cfg := range configs {
		s := old.byName[cfg.Name]
		if s == nil || !reflect.DeepEqual(s.cfg, cfg.withDefaults()) {
			s = newServer(p, cfg)
			added = append(added, s)
		}
		kept[s] = true
		next.servers = append(next.servers, s)
		next.byName[cfg.Name] = s
	}
	p.roster.Store(next)
	for _, s := range old.servers {
		if !kept[s] {
			p.retire(s)
		}
	}
	for _, s := range added {
		if s.known {
			p.announce(s)
		}
		if p.started.Load() {
			s.start()
		}
	}
	p.news.tell()
}

// retire stops a server in the background, or at once if the pool is closed.
func (p *Pool) retire(s *server) {
	if !p.run(func(context.Context) { s.close() }) {
		s.close()
	}
}
