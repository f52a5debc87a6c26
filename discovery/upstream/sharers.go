package upstream

import (
	"maps"
	"slices"
	"sync"
)

// sharers are the pools that have one in common as their base.
type sharers struct {
	mu   sync.Mutex
	with map[*Pool]bool
}

// add begins the notification of p about servers.
func (s *sharers) add(p *Pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.with == nil {
		s.with = make(map[*Pool]bool)
	}
	s.with[p] = true
}

// remove ends it.
func (s *sharers) remove(p *Pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.with, p)
}

func (s *sharers) all() []*Pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.with))
}
