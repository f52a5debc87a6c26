package upstream

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// An Elsewhere is how a server is in another pool of the same CacheDir, such as that of
// a daemon.
type Elsewhere struct {
	Name string `json:"name"`
	// Key tells servers apart that are configured differently.
	Key      string    `json:"key"`
	State    State     `json:"state"`
	Since    time.Time `json:"since"`
	Doing    Activity  `json:"doing,omitempty"`
	Error    string    `json:"error,omitempty"`
	Hint     string    `json:"hint,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	Failures int       `json:"failures,omitempty"`
	RetryAt  time.Time `json:"retry_at,omitzero"`
}

// maxElsewhereText bounds the texts of an Elsewhere, in characters.
const maxElsewhereText = 1000

// Report returns how the servers are, for another pool to Observe.
func (p *Pool) Report() []Elsewhere {
	list := []Elsewhere{}
	for _, s := range p.roster.Load().servers {
		st := s.status()
		e := Elsewhere{Name: st.Name, Key: s.cfg.key(), State: st.State, Since: st.Since.UTC(), Doing: st.Doing,
			Hint: gate.Cut(st.Hint, maxElsewhereText), FailedAt: st.FailedAt.UTC(), Failures: st.Failures, RetryAt: st.RetryAt.UTC()}
		if st.Err != nil {
			e.Error = gate.Cut(st.Err.Error(), maxElsewhereText)
		}
		list = append(list, e)
	}
	return list
}

// key tells servers apart that are configured differently.
func (c Config) key() string { return fmt.Sprintf("%s-%04x", c.fingerprint(), c.revision()) }

// Observe makes the servers that this pool does not connect itself what they are in
// another pool: their listings are read from the CacheDir, their states and failures
// taken over. Learn leaves those to it that it is starting. It replaces what was observed
// before; an empty list ends it.
func (p *Pool) Observe(list []Elsewhere) {
	for _, s := range p.roster.Load().servers {
		i := slices.IndexFunc(list, func(e Elsewhere) bool { return e.Name == s.cfg.Name && e.Key == s.cfg.key() })
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

// states are those that are taken over.
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
	s.state, s.since, s.doing = e.State, e.Since, e.Doing
	s.elsewhere = !s.known && (e.State == StateIdle || e.State == StateStarting)
	if s.elsewhere {
		s.state = StateStarting // it is about to
	}
	s.err, s.hint, s.failures = nil, gate.Clean(gate.Cut(e.Hint, maxElsewhereText)), 0
	if e.Error != "" {
		s.err = &RememberedError{Text: gate.Clean(gate.Cut(e.Error, maxElsewhereText))}
		s.failures, s.failedAt, s.next = max(e.Failures, 0), e.FailedAt, e.RetryAt
	}
}

// abandonElsewhere makes s what it was before it was observed to be starting.
func (s *server) abandonElsewhere() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.elsewhere && s.attempt == nil && s.sess == nil {
		s.elsewhere = false
		s.setState(StateIdle, nil, "")
	}
}

// readAgain takes the listing of s from the cache if it is not known.
func (s *server) readAgain(expected bool) {
	s.mu.Lock()
	known := s.known || s.attempt != nil || s.sess != nil
	s.mu.Unlock()
	if known || !expected {
		return
	}
	if e, ok := s.pool.cache.load(s.cfg); ok {
		s.takeOver(e, e.encode())
	}
}

// Recheck looks whether servers that have failed here have not failed any more for other
// pools: those that another one has listed are known, and can be called at once, the others
// are tried again. It costs little while none has failed.
func (p *Pool) Recheck() {
	for _, s := range p.roster.Load().servers {
		if s.pool == p && p.cache.dir != "" {
			s.recheck()
		}
	}
}

func (s *server) recheck() {
	s.mu.Lock()
	failed := s.failures > 0 && s.stored && s.attempt == nil && s.sess == nil
	s.mu.Unlock()
	if !failed || s.pool.cache.failed(s.cfg) {
		return
	}
	e, listed := s.pool.cache.load(s.cfg)
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
			_, _ = s.joinLocked(true) // the attempt records how it went
		}
	}
	s.mu.Unlock()
	if listed {
		s.takeOver(e, e.encode())
	}
}

// ForgetFailure removes what the pools of a CacheDir keep of the failure of a server, when
// its cause may be gone, such as after a sign-in.
func ForgetFailure(cacheDir string, c Config) error {
	return cache{dir: cacheDir}.keepFailure(c, nil)
}

// watchEvery is how often Follow asks.
const watchEvery = 250 * time.Millisecond

// Follow observes another pool until ctx is done. ask returns how the servers are there; nil means that the pool is not there any more, and
// this one learns by itself.
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
