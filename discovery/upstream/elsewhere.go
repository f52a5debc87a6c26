package upstream

import (
	"context"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// An Elsewhere is the state of a server in another pool with the same CacheDir, such as
// that of a daemon.
type Elsewhere struct {
	Name string `json:"name"`
	// Key differs between configurations of a server.
	Key      string    `json:"key"`
	State    State     `json:"state"`
	Since    time.Time `json:"since"`
	Doing    Activity  `json:"doing,omitempty"`
	Error    string    `json:"error,omitempty"`
	Hint     string    `json:"hint,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	Failures int       `json:"failures,omitempty"`
	RetryAt  time.Time `json:"retry_at,omitzero"`
	// Took is the time that it took to connect and list the server.
	Took time.Duration `json:"took,omitempty"`
}

// maxElsewhereText bounds the texts of an Elsewhere, in characters.
const maxElsewhereText = 1000

// Report returns the states of the servers, for Observe of another pool.
func (p *Pool) Report() []Elsewhere {
	list := []Elsewhere{}
	for _, s := range p.roster.Load().servers {
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
	for _, s := range p.roster.Load().servers {
		i := slices.IndexFunc(list, func(e Elsewhere) bool { return e.Name == s.cfg.Name && e.Key == s.key.String() })
		if s.pool != p {
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
		s := p.roster.Load().byName[name]
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
	for _, s := range p.roster.Load().servers {
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
	s.state, s.since, s.doing, s.took = e.State, e.Since, e.Doing, e.Took
	s.elsewhere = !s.known && (e.State == StateIdle || e.State == StateStarting)
	if s.elsewhere {
		s.state = StateStarting // the other pool is about to start it
	}
	s.err, s.hint, s.failures = nil, gate.Clean(gate.Cut(e.Hint, maxElsewhereText)), 0
	if e.Error != "" {
		s.err = &RememberedError{Text: gate.Clean(gate.Cut(e.Error, maxElsewhereText))}
		s.failures, s.failedAt, s.next = max(e.Failures, 0), e.FailedAt, e.RetryAt
	}
}

// abandonElsewhere restores the state of s from before it was observed to be starting.
func (s *server) abandonElsewhere() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.elsewhere && s.attempt == nil && s.sess == nil {
		s.elsewhere = false
		s.setState(StateIdle, nil, "")
	}
}

// readAgain reads the listing of s from the cache if it is not known.
func (s *server) readAgain(expected bool) {
	s.mu.Lock()
	known := s.known || s.attempt != nil || s.sess != nil
	s.mu.Unlock()
	if known || !expected {
		return
	}
	if e, ok := s.pool.cache.Load(s.key); ok {
		s.takeOver(e, e.Encode())
	}
}

// Recheck checks whether servers that have failed here work for other pools. Servers
// that another pool has listed become known and can be called at once; the others are
// tried again. It is cheap if no server has failed.
func (p *Pool) Recheck() {
	for _, s := range p.roster.Load().servers {
		if s.pool == p && p.cache != "" {
			s.recheck()
		}
	}
}

func (s *server) recheck() {
	s.mu.Lock()
	failed := s.failures > 0 && s.stored && s.attempt == nil && s.sess == nil
	s.mu.Unlock()
	if !failed || s.pool.cache.Failed(s.key) {
		return
	}
	e, listed := s.pool.cache.Load(s.key)
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
		s.setState(StateCached, nil, "")
	} else {
		s.setState(StateIdle, nil, "")
		if s.pool.started.Load() {
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
