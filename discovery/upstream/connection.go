package upstream

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A connection keeps at most one session to an instance of a server: it connects when one
// is needed, stops one that is idle, and decides when to try again after a failure. mu is
// never held over I/O or a callback.
type connection struct {
	cfg    Config
	key    cache.Key // of cfg
	host   *common
	log    *slog.Logger
	out    link.Output
	lister *lister

	remembering sync.Mutex // while a failure is stored; locked before mu

	mu sync.Mutex
	condition
	dial       *link.Dialer // used by the attempt only, while there is one
	kind       string       // transport for Status
	era        link.Era     // of the last session
	attempt    *attempt
	sess       *session
	retryTimer *time.Timer
	idleTimer  *time.Timer
	retired    bool // no longer configured, or the pool is closing

	ctx    context.Context // done when the server is retired
	cancel context.CancelCauseFunc
}

// An attempt is a connection being made; all who want one share it.
type attempt struct {
	done chan struct{}
	err  error // set before done is closed
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

// setLocked records a change of state; c.mu must be held.
func (c *connection) setLocked(state State, err error, hint string) {
	c.set(state, err, hint)
	c.host.changed()
}

// setActivity records the progress of the attempt.
func (c *connection) setActivity(a Activity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doing = a
}

// acquire returns the live session, connecting first if need be, and counts a
// use of it, which release ends. An attempt that failed a moment ago is not
// repeated unless force is set.
func (c *connection) acquire(ctx context.Context, force bool) (*session, error) {
	for {
		c.mu.Lock()
		if sess := c.sess; sess != nil {
			if sess.Ended() { // how is about to be recorded, and decides what comes next
				c.mu.Unlock()
				select {
				case <-sess.over:
					continue
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
			sess.inFlight++
			if c.idleTimer != nil {
				c.idleTimer.Stop()
			}
			c.mu.Unlock()
			return sess, nil
		}
		a, err := c.joinLocked(force)
		failed := c.failed(c.cfg.Name, force)
		c.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if err := a.wait(ctx, failed, c.host.grace); err != nil {
			return nil, err
		}
		force = false // a session that ended at once is not chased
	}
}

// release ends a use of sess and starts the idle clock after the last one. It shuts
// down a leaving session after its last use.
func (c *connection) release(sess *session) {
	c.mu.Lock()
	sess.inFlight--
	c.armIdleLocked(sess)
	over := sess.leaving && sess.inFlight == 0
	c.mu.Unlock()
	if over && !c.host.run(func(context.Context) { sess.Shut() }) {
		sess.Shut()
	}
}

func (c *connection) armIdleLocked(sess *session) {
	if sess.inFlight > 0 || c.sess != sess || c.cfg.KeepAlive {
		return
	}
	if c.idleTimer != nil {
		c.idleTimer.Stop()
	}
	c.idleTimer = time.AfterFunc(c.cfg.IdleTimeout, func() { c.stopIdle(sess) })
}

// stopIdle stops an unused session.
func (c *connection) stopIdle(sess *session) {
	c.mu.Lock()
	if c.sess != sess || sess.inFlight > 0 || !closed(sess.listed) {
		c.mu.Unlock()
		return
	}
	c.dropLocked()
	c.setLocked(StateStopped, nil, "")
	c.mu.Unlock()
	c.log.Debug("stop idle server")
	c.host.run(func(context.Context) { sess.Shut() })
}

// dropLocked lets go of the session; c.mu must be held.
func (c *connection) dropLocked() {
	c.sess.dropped.Store(true)
	c.sess = nil
}

// joinLocked returns the attempt under way or starts one; c.mu must be held.
func (c *connection) joinLocked(force bool) (*attempt, error) {
	if c.attempt != nil {
		return c.attempt, nil
	}
	if wait := time.Until(c.retryAt); wait > 0 && !force && c.err != nil {
		return nil, c.connectError(c.cfg.Name, wait)
	}
	if c.retired {
		return nil, &ConnectError{Server: c.cfg.Name, State: StateFailed, Err: ErrClosed}
	}
	a := &attempt{done: make(chan struct{})}
	if !c.host.run(func(context.Context) { c.connect(c.ctx, a) }) {
		return nil, &ConnectError{Server: c.cfg.Name, State: StateFailed, Err: ErrClosed}
	}
	c.attempt = a
	c.forgetUnfinished()
	if c.retryTimer != nil {
		c.retryTimer.Stop()
	}
	if c.failures > 0 { // trying again disproves nothing yet
		c.setLocked(StateStarting, c.err, c.hint)
	} else {
		c.setLocked(StateStarting, nil, "")
	}
	return a, nil
}

// open connects to the server.
func (c *connection) open(ctx context.Context) (*session, error) {
	var sess *session
	_, err := c.dial.Dial(ctx, func(l *link.Session) link.Listener {
		sess = newSession(l, c.lister)
		return sess
	})
	return sess, err
}

// queue waits for a place if the server is started by a package runner, also if its
// package runs directly, and was never listed, so that it may have to be downloaded. The
// start timeout begins after it. The function it returns gives the place back. It is called
// by the attempt.
func (c *connection) queue(ctx context.Context) (leave func()) {
	c.setActivity(ActivityQueued)
	c.dial.Installed = nil
	if c.lister.isKnown() || launch.Runner(c.cfg.Command, c.cfg.Args) == "" || !c.host.installing.wait(ctx, c.cfg.Name) {
		return func() {}
	}
	give := sync.OnceFunc(c.host.installing.leave)
	turn := time.AfterFunc(installTurn, give)
	c.dial.Installed = func() { turn.Reset(startTurn) }
	return func() { turn.Stop(); give() }
}

// connect makes one attempt and, if it succeeds, lists the server's tools.
func (c *connection) connect(ctx context.Context, a *attempt) {
	leave := c.queue(ctx)
	started := time.Now()
	c.setActivity(ActivityStarting)
	c.out.Stderr.Reset()
	sess, err := c.open(ctx)
	leave()
	if err != nil {
		c.mu.Lock()
		c.attempt = nil
		unfinished := c.failOrGiveUpLocked(err)
		a.err = c.connectError(c.cfg.Name, 0)
		c.mu.Unlock()
		if unfinished {
			c.remember()
		}
		close(a.done)
		return
	}
	c.log.Debug("connected", "took", time.Since(started), "transport", sess.Transport)
	limit := c.dial.Rest()
	c.mu.Lock()
	c.attempt = nil
	c.sess, sess.since = sess, time.Now()
	c.kind, c.era = sess.Transport, sess.Era
	if c.lister.isKnown() {
		c.setLocked(StateReady, nil, "")
		c.recoverLocked()
	}
	c.doing = ActivityListing
	c.mu.Unlock()
	if !c.host.run(func(context.Context) { c.outlive(sess) }) {
		sess.Shut() // the pool was closed meanwhile
	}
	close(a.done)
	c.firstListing(ctx, sess, started, limit)
}

// firstListing lists a new session within limit. Calls do not wait for it if the tools
// are already known.
func (c *connection) firstListing(ctx context.Context, sess *session, started time.Time, limit time.Duration) {
	if !c.lister.main {
		c.lister.ready(ctx, sess)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.armIdleLocked(sess)
		return
	}
	defer c.lister.teach(ctx, sess)
	defer close(sess.listed)
	err := c.lister.list(ctx, sess, limit)
	c.mu.Lock()
	if err == nil {
		c.took = time.Since(started)
		if c.sess == sess {
			c.recoverLocked()
			c.setLocked(StateReady, nil, "")
		}
		c.armIdleLocked(sess)
		c.mu.Unlock()
		return
	}
	if c.sess != sess { // lost meanwhile, which outlive has reported
		c.mu.Unlock()
		return
	}
	if sess.Transport != "stdio" && isLost(err) {
		c.lostLocked(sess, err)
		c.mu.Unlock()
		sess.Shut()
		return
	}
	if _, _, handled, _ := failure(err); c.lister.isKnown() && (!handled || isPartial(err)) { // known tools can still be called
		c.setLocked(StateReady, err, "")
		c.armIdleLocked(sess)
		c.mu.Unlock()
		return
	}
	c.dropLocked()
	unfinished := c.failOrGiveUpLocked(err)
	c.mu.Unlock()
	if unfinished {
		c.remember()
	}
	sess.Shut()
}

// outlive waits for the end of a session and sees to what follows from it.
func (c *connection) outlive(sess *session) {
	began := time.Now()
	cause := sess.Wait()
	lasted := time.Since(began)
	c.mu.Lock()
	switch {
	case c.sess != sess: // given up before
		cause = nil
	case c.retired || c.host.closing():
		c.dropLocked()
		cause = nil
	default:
		c.lostLocked(sess, cause)
	}
	c.mu.Unlock()
	c.host.opts.OnEnd(c.cfg.Name, sess.Transport, lasted, cause)
	close(sess.over)
	sess.Shut()
}

// lostLocked records that the live session ended by itself; c.mu must be held.
func (c *connection) lostLocked(sess *session, cause error) {
	c.log.Warn("connection lost", "err", cause)
	often := c.died(time.Since(sess.since), closed(sess.listed))
	c.dropLocked()
	hint := "the next call starts it again"
	known := c.lister.isKnown()
	switch {
	case sess.Transport != "stdio" && !often:
		// A remote server was perhaps only started anew: it can be tried at once.
		c.setLocked(StateStopped, cause, hint)
		if !known || c.cfg.KeepAlive {
			_, _ = c.joinLocked(true) // the attempt records how it went
		}
	case !known || often:
		c.failures = max(c.failures, c.quickDeaths-maxQuickDeaths) // being connected was no success
		c.failLocked(sess.Lost(cause))
		return
	case c.cfg.KeepAlive:
		c.retryAt = time.Now().Add(backoff(1))
		c.setLocked(StateStopped, cause, hint)
		c.retryLaterLocked(StateStopped)
		c.retryAt = time.Time{} // a call need not wait
	default:
		c.setLocked(StateStopped, cause, hint)
	}
}

// worked notes that the server answers calls.
func (c *connection) worked() {
	c.mu.Lock()
	c.quickDeaths = 0
	c.mu.Unlock()
}

// end ends a session that a call has found to be over. When it returns, that is
// recorded, or ctx is done.
func (c *connection) end(ctx context.Context, sess *session, err error) {
	c.host.run(func(context.Context) { sess.Shut() })
	if sess.Process != nil { // outlive knows more about the reason
		select {
		case <-sess.over:
		case <-ctx.Done():
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sess == sess && !c.retired && !c.host.closing() {
		c.lostLocked(sess, sess.Hide.InErr(err))
	}
}

// leave ends a session that its server has lost. Calls in progress that are not
// refused finish first: over HTTP they have their own connections.
func (c *connection) leave(ctx context.Context, sess *session, err error) {
	if sess.Transport != "http" {
		c.end(ctx, sess, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sess.leaving = true // until its last call is released
	if c.sess == sess && !c.retired && !c.host.closing() {
		c.lostLocked(sess, sess.Hide.InErr(err))
	}
}

// signOut ends a session whose server wants a sign-in.
func (c *connection) signOut(sess *session, err error, hint string) {
	c.mu.Lock()
	if c.sess == sess {
		c.dropLocked()
		c.setLocked(StateNeedsSignIn, err, hint)
	}
	c.mu.Unlock()
	c.host.run(func(context.Context) { sess.Shut() })
}

// retire ends the session, the attempt and the timers, for good: nothing starts again.
func (c *connection) retire() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
	c.cancel(ErrClosed)
	for _, t := range []*time.Timer{c.idleTimer, c.retryTimer} {
		if t != nil {
			t.Stop()
		}
	}
	c.lister.relist.stop()
	a, sess := c.attempt, c.sess
	return func() {
		if a != nil {
			<-a.done // its context is done, so it ends soon
			c.mu.Lock()
			sess = c.sess
			c.mu.Unlock()
		}
		if sess != nil {
			sess.Shut()
		}
	}
}

// isLost reports whether err means that a session is over, whatever for.
func isLost(err error) bool {
	return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing)
}
