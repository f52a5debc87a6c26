package upstream

import (
	"context"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/fair"
)

// A server is one configured server, or an instance of one: its connection, what it
// lists, its other instances, and the slots of the calls in flight.
type server struct {
	*connection
	inventory *inventory
	slots     *fair.Slots // one per call in flight
	instances instances[*server]
}

// newServer returns a server with the listing e, if it is known. announce is called with
// each new listing of it.
func newServer(host *common, cfg Config, e cache.Entry, known bool, announce func(*server)) *server {
	full := cfg.withDefaults()
	v := &inventory{cfg: full, key: full.key(), host: host, log: host.opts.Logger.With("server", cfg.Name)}
	s := makeServer(host.ctx, cfg, v, true)
	v.announce = func() { announce(s) }
	if known {
		v.restore(e)
		s.adoptLocked(e)
	} else {
		v.decideLocked()
	}
	now := time.Now()
	if f, ok := host.cache.Failure(s.key, now); ok {
		if s.dial.Era == link.EraUnknown {
			s.dial.Era = f.Era
		}
		s.recall(f, now)
	}
	return s
}

// makeServer returns a server that is not connected, with the listing v. It ends with ctx.
func makeServer(ctx context.Context, cfg Config, v *inventory, main bool) *server {
	host, more := v.host, 0 // the configured limit is never exceeded
	if k, _, _ := sharing.Known(cfg.Command, cfg.Args); cfg.MaxInFlight <= 0 && k.MaxConcurrent == 0 {
		more = fair.More(defaultMaxInFlight)
	}
	cfg = cfg.withDefaults()
	c := &connection{cfg: cfg, key: v.key, host: host, log: v.log, out: link.NewOutput(), kind: cfg.kind()}
	c.state, c.since = StateIdle, time.Now()
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.lister = newLister(c.ctx, v, main)
	c.dial = host.newDialer(cfg, c.out)
	c.dial.Progress = func(step link.Step) { c.setActivity(Activity(step)) }
	if !host.opts.KeepPackages {
		c.dial.Review = reviewer{host, cfg, c.ctx}.review
	}
	if c.kind == "" {
		c.kind = "http"
	}
	s := &server{connection: c, inventory: v, slots: fair.New(cfg.MaxInFlight, more, 0)}
	if people := host.opts.People; people != nil && cfg.Credentials.OfPeople() {
		s.dialFor(people.Lister(cfg))
	}
	return s
}

// dialFor makes an instance reach its server as a says.
func (s *server) dialFor(a Access) {
	o := s.host.opts
	o.OAuth = a.OAuth
	if a.Expand != nil {
		o.Expand = a.Expand
	}
	s.dial.Server = s.cfg.reached(&o)
}

// takeOver makes the listing of another broker that of s.
func (s *server) takeOver(e cache.Entry, body []byte) {
	s.inventory.takeOver(e, body, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.adoptLocked(e)
	})
}

// adoptLocked takes over what an entry says beside the listing; s.mu must be held unless s
// is not shared yet.
func (s *server) adoptLocked(e cache.Entry) {
	if s.attempt == nil && s.sess == nil {
		s.dial.Era, s.dial.Transport = e.Era, e.Transport
		s.era, s.kind = e.Era, e.Listing.Transport
	}
	if s.state == StateIdle {
		s.setLocked(StateCached, nil, "")
	}
}

// newInstance returns another instance of s, with its tools.
func (s *server) newInstance(folder string) *server {
	i := makeServer(s.ctx, s.cfg.apart(folder), s.inventory, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	i.dial.Era, i.kind = s.era, s.kind
	if s.kind != "stdio" {
		i.dial.Transport = s.kind
	}
	return i
}

// connected reports whether s has a session.
func (s *server) connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sess != nil
}

// close ends the session, the instances and the timers, for good: nothing starts them
// again.
func (s *server) close() {
	end := s.connection.retire()
	var wg sync.WaitGroup
	for _, i := range s.instances.close() {
		wg.Go(i.close)
	}
	wg.Wait()
	end()
}

// retire closes s in the background, or at once if the pool is closed.
func (s *server) retire() {
	if !s.host.run(func(context.Context) { s.close() }) {
		s.close()
	}
}

// start connects, in the background, a server with unknown tools, or one that is kept
// alive. It leaves a failed server alone until it is due.
func (s *server) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetUnfinished() // this attempt has the full time limit
	switch {
	case s.sess != nil || s.inventory.isKnown() && !s.cfg.KeepAlive:
	case s.failures > 0 && s.attempt == nil && time.Now().Before(s.next):
		s.retryAtLocked(s.next)
	case s.cfg.KeepAlive || s.host.lists():
		_, _ = s.joinLocked(false) // the attempt records how it went
	default:
		s.leaveToOthersLocked()
	}
}

// learnSoon connects a server that is due, in the background. It returns the attempt if
// the server has failed before.
func (s *server) learnSoon() *attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dueLocked() {
		return nil
	}
	failed := s.failures > 0 && !s.unfinished
	a, err := s.joinLocked(true) // the attempt records its outcome
	if err != nil || !failed {
		return nil
	}
	return a
}

// dueLocked reports whether Learn connects s; s.mu must be held.
func (s *server) dueLocked() bool {
	if s.sess != nil || s.elsewhere || s.inventory.isKnown() {
		return false
	}
	if s.failures > 0 {
		return !time.Now().Before(s.next)
	}
	return !s.host.mayBreak(s.cfg)
}

// refresh connects and lists anew, until the listing is stable: see settled.
func (s *server) refresh(ctx context.Context) {
	for force := true; ; force = false {
		sess, err := s.acquire(ctx, force)
		if err != nil {
			return // recorded by the attempt
		}
		s.refreshIn(ctx, sess)
		s.release(sess)
		if ctx.Err() != nil || !s.undecided() {
			return
		}
	}
}

// refreshIn is refresh in a session, which may be lost meanwhile.
func (s *server) refreshIn(ctx context.Context, sess *session) {
	if !closed(sess.taught) {
		select {
		case <-sess.taught:
			s.lister.settled(ctx, sess)
		case <-ctx.Done():
		}
		return
	}
	err := s.lister.list(ctx, sess, s.cfg.StartTimeout)
	s.lister.listSkills(ctx, sess)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sess == sess {
		s.setLocked(StateReady, err, "")
	}
}

// awaitListing connects if need be and waits until the first listing of the
// session is there. A session that the server forgot meanwhile is followed by
// another one.
func (s *server) awaitListing(ctx context.Context, force bool) error {
	for {
		sess, err := s.acquire(ctx, force)
		if err != nil {
			return err
		}
		select {
		case <-sess.listed:
		case <-ctx.Done():
		}
		s.release(sess)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !s.undecided() {
			break
		}
		force = false
	}
	if s.inventory.isKnown() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connectError(s.cfg.Name, 0)
}

// undecided reports whether the tools of the server are unknown though it has
// not failed: the session that was to tell them was lost, and another one may.
func (s *server) undecided() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.inventory.isKnown() && s.state != StateFailed && s.state != StateNeedsSignIn
}

// status returns what is known of the server now.
func (s *server) status() Status {
	running := s.instances.running()
	shown, _ := s.inventory.listing()
	who, why := s.inventory.shared()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{
		Name: s.cfg.Name, Transport: s.kind, State: s.state, Err: s.err, Hint: s.hint,
		Since: s.since, Took: s.took, Tools: len(shown.Tools),
		Stderr: s.out.Stderr.Lines(), Dropped: s.out.Dropped.Lines(),
		Protocol: shown.Protocol, Version: shown.Version,
		Sharing: who, SharingWhy: why, MaxConcurrent: s.cfg.MaxInFlight,
	}
	if s.state == StateStarting {
		st.Doing = s.doing
	}
	if s.failures > 0 && s.err != nil && !s.unfinished {
		st.FailedAt, st.Failures, st.RetryAt = s.failedAt, s.failures, s.next
	}
	if s.sess != nil && s.sess.Process != nil {
		st.PID = s.sess.Process.PID()
	}
	st.Instances = running
	return st
}
