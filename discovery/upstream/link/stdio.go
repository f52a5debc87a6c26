package link

import (
	"context"
	"errors"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
)

// A server that is up answers the probe within milliseconds. One that is not up yet copes
// with an initialize behind it.
const maxProbeWait = 4 * time.Second

// dialStdio starts the server and opens a session in its era, which may take a second
// process (see the package comment). The second process gets as much time if the first
// one refused to initialize, and otherwise half, at most StartTimeout, since the
// first one has done the slow work, such as a download.
func (d *Dialer) dialStdio(ctx context.Context, t *Target) (*Session, error) {
	known := d.Era
	s, conn, err := d.openWithin(ctx, d.limit, t, known)
	if err == nil || ctx.Err() != nil {
		return s, err
	}
	silent := errors.Is(err, errNoAnswer)
	switch {
	case conn == nil: // not even started
		return nil, err
	case known == EraUnknown && (!silent || conn.Stuck()):
		// It ended with the probe, never recovered from it, or refused the
		// initialize that it found behind the probe when it was up at last.
		d.Era = EraLegacy
	case known == EraLegacy && conn.InitializeAnswered() && !silent:
		d.Era = EraUnknown // it refused initialize: perhaps it was updated
	default:
		return nil, err
	}
	d.Output.reset() // the second attempt says the same again
	d.does(Restarting)
	limit := min(d.limit, StartTimeout)
	if !conn.InitializeAnswered() {
		limit /= 2 // it may never answer
	}
	s, _, err2 := d.openWithin(ctx, limit, t, d.Era)
	if err2 != nil {
		if d.Era == EraUnknown || silent && errors.Is(err2, errNoAnswer) {
			return nil, err
		}
		return nil, err2
	}
	return s, nil
}

// openWithin is openStdio with a time limit.
func (d *Dialer) openWithin(ctx context.Context, limit time.Duration, t *Target, e Era) (s *Session, conn *transport.Stdio, err error) {
	s, err = d.within(ctx, limit, func(ctx context.Context) (*Session, error) {
		s, c, err := d.openStdio(ctx, t, e)
		conn = c
		return s, err
	})
	return s, conn, err
}

// openStdio makes one attempt with its own process. conn is nil if the process did not
// start.
func (d *Dialer) openStdio(ctx context.Context, t *Target, e Era) (*Session, *transport.Stdio, error) {
	s := newSession(t.Hide)
	s.Transport = "stdio"
	var conn *transport.Stdio
	if d.Pipes != nil {
		c, err := d.Pipes()
		if err != nil {
			return nil, nil, err
		}
		conn = c
	} else {
		if err := d.mayStart(); err != nil {
			return nil, nil, err
		}
		proc, err := launch.Start(t.Command, d.Output.Stderr, d.Programs.Guard)
		if err != nil {
			return nil, nil, err
		}
		s.Process = proc
		probe := min(maxProbeWait, d.limit/8)
		if e == EraModern { // it answers once it is running, and accepts no initialize after the probe
			probe = d.limit / 2
		}
		conn = transport.NewStdio(proc.Stdout, proc.Stdin, transport.StdioOptions{
			Dropped: d.Output.Dropped.Add, ProbeWait: probe,
		})
	}
	s.handled = conn.Settle()
	err := d.handshake(ctx, s, conn, e)
	if err != nil {
		if !conn.InitializeAnswered() && context.Cause(ctx) != ErrClosed { // else the answer, or the end of the pool, is the reason
			if s.Process != nil {
				readRest(s.Process, conn)
			}
			err = d.advice.died(err, s.Process)
		}
		conn.Close()
		switch {
		case s.Process == nil:
		case conn.InitializeAnswered():
			s.Process.Stop()
		default:
			s.Process.Abort()
		}
		return nil, conn, err
	}
	return s, conn, nil
}

// restTime is the time to read what a process wrote before it ended. A child of it may
// keep its stdout open.
const restTime = 200 * time.Millisecond

// readRest waits until the stdout of a process that has ended is read, since the cause of
// its end may be the last line.
func readRest(p *launch.Process, conn *transport.Stdio) {
	if _, ended := p.Ended(); !ended {
		return
	}
	select {
	case <-conn.Ended():
	case <-time.After(restTime):
	}
}

// mayStart asks the server's permit, directly before the start.
func (d *Dialer) mayStart() error {
	if d.Server.MayStart == nil {
		return nil
	}
	if err := d.Server.MayStart(); err != nil {
		return &Error{Err: err, Hint: "review the changes, and approve it again"}
	}
	return nil
}
