package upstream

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/fair"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	firstBackoff = time.Second
	maxBackoff   = 2 * time.Minute

	// A server that dies within quickDeath of being connected, or before it was
	// listed, this many times running, is treated as one that cannot be connected.
	quickDeath     = 10 * time.Second
	maxQuickDeaths = 3
)

// A server is one configured upstream and what is going on with it. mu
// is never held over I/O or a callback.
type server struct {
	cfg   Config
	key   cache.Key // of cfg
	pool  *Pool
	log   *slog.Logger
	slots *fair.Slots // one per call in flight
	out   link.Output

	taking      sync.Mutex // from reading full until learn has replaced it; locked before mu
	remembering sync.Mutex // while a failure is stored; locked before mu

	mu      sync.Mutex
	full    discovery.Listing // as listed; valid if known
	shown   discovery.Listing // what the configuration allows of it
	known   bool
	dial    *link.Dialer // used by the attempt only, while there is one
	kind    string       // transport for Status
	state   State
	err     error
	hint    string
	since   time.Time
	took    time.Duration
	attempt *attempt
	sess    *session
	sessAt  time.Time

	failures    int // in a row
	quickDeaths int // in a row
	retryAt     time.Time
	failedAt    time.Time // time of err, if failures is not zero
	next        time.Time // when other pools may try again, see remembered
	failedEra   link.Era  // era of the next attempt
	stored      bool      // the failure is stored
	elsewhere   bool      // another pool is starting it, see Observe
	unfinished  bool      // err means that another pool ended too soon
	doing       Activity  // progress of the attempt
	retryTimer  *time.Timer
	idleTimer   *time.Timer
	relist      relister
	unshared    []byte // entry that could not be shared with other brokers
	retired     bool   // no longer configured, or the pool is closing

	era     link.Era     // of the last session
	asks    bool         // it has asked a client something
	sharing sharing.Kind // and why
	why     string

	parent    *server // of which it is an instance; nil for the one that lists the tools
	instances instances

	ctx    context.Context // done when the server is retired
	cancel context.CancelCauseFunc
}

// An attempt is a connection being made; all who want one share it.
type attempt struct {
	done chan struct{}
	err  error // set before done is closed
}

// newServer returns a server with the listing e, if it is known.
func newServer(p *Pool, cfg Config, e cache.Entry, known bool) *server {
	s := makeServer(p.ctx, p, cfg)
	if known {
		s.full, s.known = e.Listing, true
		s.shown = s.cfg.described(e.Listing)
		s.rememberLocked(e)
	}
	s.recallLocked()
	s.decideLocked()
	return s
}

// makeServer returns a server of which nothing is known. It ends with ctx.
func makeServer(ctx context.Context, p *Pool, cfg Config) *server {
	more := 0 // the configured limit is never exceeded
	if k, _, _ := sharing.Known(cfg.Command, cfg.Args); cfg.MaxInFlight <= 0 && k.MaxConcurrent == 0 {
		more = fair.More(defaultMaxInFlight)
	}
	cfg = cfg.withDefaults()
	s := &server{
		cfg: cfg, key: cfg.key(), pool: p,
		log:   p.opts.Logger.With("server", cfg.Name),
		slots: fair.New(cfg.MaxInFlight, more, 0),
		out:   link.NewOutput(),
		state: StateIdle,
		since: time.Now(),
		kind:  cfg.kind(),
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.dial = s.newDialer(s.out)
	s.dial.Progress = func(step link.Step) { s.setActivity(Activity(step)) }
	if !p.opts.KeepPackages {
		s.dial.Review = s.review
	}
	if s.kind == "" {
		s.kind = "http"
	}
	if people := p.opts.People; people != nil && cfg.Credentials.OfPeople() {
		s.dialFor(people.Lister(cfg))
	}
	return s
}

// setState records a change of state; s.mu is held.
func (s *server) setState(state State, err error, hint string) {
	if s.state != state {
		s.since = time.Now()
	}
	s.state, s.err, s.hint = state, err, hint
	s.pool.tell()
}

// acquire returns the live session, connecting first if need be, and counts a
// use of it, which release ends. An attempt that failed a moment ago is not
// repeated unless force is set.
func (s *server) acquire(ctx context.Context, force bool) (*session, error) {
	for {
		s.mu.Lock()
		if sess := s.sess; sess != nil {
			if sess.Ended() { // how is about to be recorded, and decides what comes next
				s.mu.Unlock()
				select {
				case <-sess.over:
					continue
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
			sess.inFlight++
			if s.idleTimer != nil {
				s.idleTimer.Stop()
			}
			s.mu.Unlock()
			return sess, nil
		}
		a, err := s.joinLocked(force)
		failed := s.failedLocked(force)
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if err := a.wait(ctx, failed, s.pool.grace); err != nil {
			return nil, err
		}
		force = false // a session that ended at once is not chased
	}
}

// release ends a use of sess and starts the idle clock after the last one. It shuts
// down a leaving session after its last use.
func (s *server) release(sess *session) {
	s.mu.Lock()
	sess.inFlight--
	s.armIdleLocked(sess)
	over := sess.leaving && sess.inFlight == 0
	s.mu.Unlock()
	if over && !s.pool.run(func(context.Context) { sess.Shut() }) {
		sess.Shut()
	}
}

func (s *server) armIdleLocked(sess *session) {
	if sess.inFlight > 0 || s.sess != sess || s.cfg.KeepAlive {
		return
	}
	if s.idleTimer != nil {
		s.idleTimer.Stop()
	}
	s.idleTimer = time.AfterFunc(s.cfg.IdleTimeout, func() { s.stopIdle(sess) })
}

// stopIdle stops an unused session.
func (s *server) stopIdle(sess *session) {
	s.mu.Lock()
	if s.sess != sess || sess.inFlight > 0 || !closed(sess.listed) {
		s.mu.Unlock()
		return
	}
	s.sess = nil
	s.setState(StateStopped, nil, "")
	s.mu.Unlock()
	s.log.Debug("stop idle server")
	s.pool.run(func(context.Context) { sess.Shut() })
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// joinLocked returns the attempt under way or starts one; s.mu is held.
func (s *server) joinLocked(force bool) (*attempt, error) {
	if s.attempt != nil {
		return s.attempt, nil
	}
	if wait := time.Until(s.retryAt); wait > 0 && !force && s.err != nil {
		return nil, s.connectError(s.err, wait)
	}
	if s.retired {
		return nil, &ConnectError{Server: s.cfg.Name, State: StateFailed, Err: ErrClosed}
	}
	a := &attempt{done: make(chan struct{})}
	if !s.pool.run(func(context.Context) { s.connect(s.ctx, a) }) {
		return nil, &ConnectError{Server: s.cfg.Name, State: StateFailed, Err: ErrClosed}
	}
	s.attempt = a
	s.forgetUnfinishedLocked()
	if s.retryTimer != nil {
		s.retryTimer.Stop()
	}
	if s.failures > 0 { // trying again disproves nothing yet
		s.setState(StateStarting, s.err, s.hint)
	} else {
		s.setState(StateStarting, nil, "")
	}
	return a, nil
}

// connectError dresses err for a caller; s.mu is held.
func (s *server) connectError(err error, retryIn time.Duration) *ConnectError {
	e := &ConnectError{Server: s.cfg.Name, State: s.state, Hint: s.hint, Err: err, RetryIn: retryIn}
	if e.State != StateNeedsSignIn {
		e.State = StateFailed
	}
	return e
}

// failedLocked returns the error for callers that do not wait for another attempt at a
// failed server. It returns nil if the server has not failed or force is set; s.mu must
// be held.
func (s *server) failedLocked(force bool) *ConnectError {
	if force || s.failures == 0 || s.err == nil {
		return nil
	}
	e := s.connectError(s.err, 0)
	e.Retrying = true
	return e
}

// wait waits for the end of an attempt. If the server has failed before, it returns
// that error after grace.
func (a *attempt) wait(ctx context.Context, failed *ConnectError, grace time.Duration) error {
	var enough <-chan time.Time
	if failed != nil {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case <-a.done:
		return a.err
	case <-enough:
		return failed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// connect makes one attempt and, if it succeeds, lists the server's tools.
func (s *server) connect(ctx context.Context, a *attempt) {
	leave := s.pool.queueInstall(ctx, s)
	started := time.Now()
	s.setActivity(ActivityStarting)
	s.out.Stderr.Reset()
	sess, err := s.open(ctx)
	leave()
	if err != nil {
		s.mu.Lock()
		s.attempt = nil
		unfinished := s.pool.closing() && s.giveUpLocked()
		if !unfinished {
			s.failLocked(err)
		}
		a.err = s.connectError(s.err, 0)
		s.mu.Unlock()
		if unfinished {
			s.remember()
		}
		close(a.done)
		return
	}
	s.log.Debug("connected", "took", time.Since(started), "transport", sess.Transport)
	limit := s.dial.Rest()
	s.mu.Lock()
	s.attempt = nil
	s.sess, s.sessAt = sess, time.Now()
	s.kind, s.era = sess.Transport, sess.Era
	if s.known {
		s.setState(StateReady, nil, "")
		s.recoverLocked()
	}
	s.doing = ActivityListing
	s.mu.Unlock()
	if !s.pool.run(func(context.Context) { s.outlive(sess) }) {
		sess.Shut() // the pool was closed meanwhile
	}
	close(a.done)
	s.firstListing(ctx, sess, started, limit)
}

// firstListing lists a new session within limit. Calls do not wait for it if the tools
// are already known.
func (s *server) firstListing(ctx context.Context, sess *session, started time.Time, limit time.Duration) {
	if s.parent != nil {
		s.readied(ctx, sess)
		return
	}
	defer s.teach(ctx, sess)
	defer close(sess.listed)
	err := s.list(ctx, sess, limit)
	s.mu.Lock()
	if err == nil {
		s.took = time.Since(started)
		if s.sess == sess {
			s.recoverLocked()
			s.setState(StateReady, nil, "")
		}
		s.armIdleLocked(sess)
		s.mu.Unlock()
		return
	}
	if s.sess != sess { // lost meanwhile, which outlive has reported
		s.mu.Unlock()
		return
	}
	if sess.Transport != "stdio" && isLost(err) {
		s.lostLocked(sess, err)
		s.mu.Unlock()
		sess.Shut()
		return
	}
	if _, _, handled, _ := failure(err); s.known && (!handled || isPartial(err)) { // known tools can still be called
		s.setState(StateReady, err, "")
		s.armIdleLocked(sess)
		s.mu.Unlock()
		return
	}
	s.sess = nil
	unfinished := s.pool.closing() && s.giveUpLocked()
	if !unfinished {
		s.failLocked(err)
	}
	s.mu.Unlock()
	if unfinished {
		s.remember()
	}
	sess.Shut()
}

// outlive waits for the end of a session and sees to what follows from it.
func (s *server) outlive(sess *session) {
	began := time.Now()
	cause := sess.Wait()
	lasted := time.Since(began)
	s.mu.Lock()
	switch {
	case s.sess != sess: // given up before
		cause = nil
	case s.retired || s.pool.closing():
		s.sess, cause = nil, nil
	default:
		s.lostLocked(sess, cause)
	}
	s.mu.Unlock()
	s.pool.opts.OnEnd(s.cfg.Name, sess.Transport, lasted, cause)
	close(sess.over)
	sess.Shut()
}

// lostLocked records that the live session ended by itself; s.mu is held.
func (s *server) lostLocked(sess *session, cause error) {
	s.log.Warn("connection lost", "err", cause)
	if time.Since(s.sessAt) < quickDeath || !closed(sess.listed) {
		s.quickDeaths++
	} else {
		s.quickDeaths = 0
	}
	s.sess = nil
	hint := "the next call starts it again"
	switch {
	case sess.Transport != "stdio" && s.quickDeaths < maxQuickDeaths:
		// A remote server was perhaps only started anew: it can be tried at once.
		s.setState(StateStopped, cause, hint)
		if !s.known || s.cfg.KeepAlive {
			_, _ = s.joinLocked(true) // the attempt records how it went
		}
	case !s.known || s.quickDeaths >= maxQuickDeaths:
		s.failures = max(s.failures, s.quickDeaths-maxQuickDeaths) // being connected was no success
		s.failLocked(sess.Lost(cause))
		return
	case s.cfg.KeepAlive:
		s.retryAt = time.Now().Add(backoff(1))
		s.setState(StateStopped, cause, hint)
		s.retryLaterLocked(StateStopped)
		s.retryAt = time.Time{} // a call need not wait
	default:
		s.setState(StateStopped, cause, hint)
	}
}

// isLost reports whether err means that a session is over, whatever for.
func isLost(err error) bool {
	return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing)
}
