package upstream

import (
	"context"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// Report returns the states of the servers, for Observe of another pool.
func (p *Pool) Report() []Elsewhere {
	list := []Elsewhere{}
	for _, s := range p.servers() {
		st := s.status()
		e := Elsewhere{Name: st.Name, Key: s.key.String(), State: st.State, Since: st.Since.UTC(), Doing: st.Doing,
			Hint: gate.Cut(st.Hint, maxElsewhereText), FailedAt: st.FailedAt.UTC(), Failures: st.Failures, RetryAt: st.RetryAt.UTC(), Took: st.Took}
		if st.Err != nil {
			e.Error = gate.Cut(st.Err.Error(), maxElsewhereText)
		}
		list = append(list, e)
	}
	return list
}

// Observe takes over the states and failures of the servers that this pool does not
// connect itself, and reads their listings from the CacheDir. Learn does not connect
// servers that the other pool is starting. A call replaces the states of the previous
// one; an empty list ends the observation.
func (p *Pool) Observe(list []Elsewhere) {
	for _, s := range p.servers() {
		i := slices.IndexFunc(list, func(e Elsewhere) bool { return e.Name == s.cfg.Name && e.Key == s.key.String() })
		if !p.owns(s) {
			continue
		}
		if i < 0 {
			s.abandonElsewhere()
			continue
		}
		s.observe(list[i])
	}
	p.tell()
}

// AwaitState waits until a server is not being started, here or by another pool, or ctx
// is done. Its tools may be known before that.
func (p *Pool) AwaitState(ctx context.Context, name string) {
	for {
		changed := p.Changed()
		s := p.server(name)
		if s == nil || s.status().State != StateStarting || p.closing() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Unreported returns the servers of this pool that list does not report in their present
// configuration, in config order. The other pool may be about to read it.
func (p *Pool) Unreported(list []Elsewhere) []string {
	var names []string
	for _, s := range p.servers() {
		if !slices.ContainsFunc(list, func(e Elsewhere) bool { return e.Name == s.cfg.Name && e.Key == s.key.String() }) {
			names = append(names, s.cfg.Name)
		}
	}
	return names
}

// States that are taken over.
var states = []State{StateIdle, StateCached, StateStarting, StateReady, StateStopped, StateFailed, StateNeedsSignIn}

func (s *server) observe(e Elsewhere) {
	if !slices.Contains(states, e.State) {
		return
	}
	s.readAgain(e.State != StateIdle && e.State != StateStarting)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempt != nil || s.sess != nil {
		return
	}
	s.condition.observe(e, s.inventory.isKnown())
}

// abandonElsewhere restores the state of s from before it was observed to be starting.
func (s *server) abandonElsewhere() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.elsewhere && s.attempt == nil && s.sess == nil {
		s.elsewhere = false
		s.setLocked(StateIdle, nil, "")
	}
}

// readAgain reads the listing of s from the cache if it is not known.
func (s *server) readAgain(expected bool) {
	s.mu.Lock()
	known := s.attempt != nil || s.sess != nil || s.inventory.isKnown()
	s.mu.Unlock()
	if known || !expected {
		return
	}
	if e, ok := s.host.cache.Load(s.key); ok {
		s.takeOver(e, e.Encode())
	}
}

// Recheck checks whether servers that have failed here work for other pools. Servers
// that another pool has listed become known and can be called at once; the others are
// tried again. It is cheap if no server has failed.
func (p *Pool) Recheck() {
	for _, s := range p.servers() {
		if p.owns(s) && p.cache != "" {
			s.recheck()
		}
	}
}

func (s *server) recheck() {
	s.mu.Lock()
	failed := s.failures > 0 && s.stored && s.attempt == nil && s.sess == nil
	s.mu.Unlock()
	if !failed || s.host.cache.Failed(s.key) {
		return
	}
	e, listed := s.host.cache.Load(s.key)
	s.mu.Lock()
	if s.attempt != nil || s.sess != nil || !s.stored || s.retired {
		s.mu.Unlock()
		return
	}
	s.failures, s.retryAt, s.next, s.stored = 0, time.Time{}, time.Time{}, false
	if s.retryTimer != nil {
		s.retryTimer.Stop()
	}
	if listed {
		s.setLocked(StateCached, nil, "")
	} else {
		s.setLocked(StateIdle, nil, "")
		if s.host.started.Load() {
			_, _ = s.joinLocked(true) // the attempt records its outcome
		}
	}
	s.mu.Unlock()
	if listed {
		s.takeOver(e, e.Encode())
	}
}

// ForgetFailure removes the stored failure of a server from a CacheDir. Call it when
// the cause may be gone, such as after a sign-in.
func ForgetFailure(cacheDir string, c Config) error {
	return cache.Dir(cacheDir).KeepFailure(c.key(), nil)
}

// watchEvery is the interval at which Follow asks.
const watchEvery = 250 * time.Millisecond

// Follow observes another pool until ctx is done. ask returns the states of its
// servers; after nil, the other pool is gone, and this one connects servers itself.
func (p *Pool) Follow(ctx context.Context, ask func() []Elsewhere) {
	p.run(func(context.Context) {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			case <-p.ctx.Done():
				return
			}
			list := ask()
			if p.Observe(list); list == nil {
				p.Learn(ctx)
				return
			}
		}
	})
}
