package upstream

import (
	"context"
	"time"
)

// start connects, in the background, a server with unknown tools, or one that is kept
// alive. It leaves a failed server alone until it is due.
func (s *server) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetUnfinishedLocked() // this attempt has the full time limit
	switch {
	case s.sess != nil || s.known && !s.cfg.KeepAlive:
	case s.failures > 0 && s.attempt == nil && time.Now().Before(s.next):
		s.retryAtLocked(s.next)
	case s.cfg.KeepAlive || s.pool.lists():
		_, _ = s.joinLocked(false) // the attempt records how it went
	default:
		s.leaveLocked()
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
	if s.sess != nil || s.known || s.elsewhere {
		return false
	}
	if s.failures > 0 {
		return !time.Now().Before(s.next)
	}
	return !s.pool.mayBreak(s.cfg)
}

// close ends the session and the timers, for good: nothing starts it again.
func (s *server) close() {
	s.mu.Lock()
	s.retired = true
	s.cancel(ErrClosed)
	for _, t := range []*time.Timer{s.idleTimer, s.retryTimer, s.relist.timer} {
		if t != nil {
			t.Stop()
		}
	}
	a, sess := s.attempt, s.sess
	s.mu.Unlock()
	s.closeInstances()
	if a != nil {
		<-a.done // its context is done, so it ends soon
		s.mu.Lock()
		sess = s.sess
		s.mu.Unlock()
	}
	if sess != nil {
		sess.Shut()
	}
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
			s.settled(ctx, sess)
		case <-ctx.Done():
		}
		return
	}
	err := s.list(ctx, sess, s.cfg.StartTimeout)
	s.listSkills(ctx, sess)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sess == sess {
		s.setState(StateReady, err, "")
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known {
		return nil
	}
	return s.connectError(s.err, 0)
}

// undecided reports whether the tools of the server are unknown though it has
// not failed: the session that was to tell them was lost, and another one may.
func (s *server) undecided() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.known && s.state != StateFailed && s.state != StateNeedsSignIn
}

// status returns what is known of the server now.
func (s *server) status() Status {
	running := s.running()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{
		Name: s.cfg.Name, Transport: s.kind, State: s.state, Err: s.err, Hint: s.hint,
		Since: s.since, Took: s.took, Tools: len(s.shown.Tools),
		Stderr: s.out.Stderr.Lines(), Dropped: s.out.Dropped.Lines(),
		Protocol: s.shown.Protocol, Version: s.shown.Version,
		Sharing: s.sharing, SharingWhy: s.why, MaxConcurrent: s.cfg.MaxInFlight,
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

// setActivity records the progress of the attempt.
func (s *server) setActivity(a Activity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing = a
}
