package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/filelock"
)

// connect connects to the daemon, and starts one if necessary. An error means that this
// client is served without a daemon.
func (b *Bridge) connect(ctx context.Context) (net.Conn, *bufio.Reader, error) {
	silent := fmt.Errorf("the daemon did not answer within %v: see %s", connectTime, LogPath(b.StateDir))
	ctx, cancel := context.WithTimeoutCause(ctx, connectTime, silent)
	defer cancel()
	p := locationOf(b.StateDir)
	var start starter
	defer start.done()
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		conn, br, w, err := b.greet(ctx, p)
		switch {
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		case err == nil && w.Refused != "":
			return nil, nil, errors.New(w.Refused)
		case err == nil && !w.Moved:
			return conn, br, nil
		case errors.Is(err, os.ErrDeadlineExceeded): // for example of a process stopped with SIGSTOP
			return nil, nil, silent
		case err != nil && !notRunning(err):
			return nil, nil, err
		}
		if err := start.once(p, b.Start); err != nil {
			return nil, nil, err
		}
		select {
		case err := <-start.ended:
			if err != nil {
				return nil, nil, fmt.Errorf("the daemon did not start: %w: see %s", err, LogPath(b.StateDir))
			}
			start.ended = nil
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// A starter starts a daemon, unless another client is starting one.
type starter struct {
	unlock func()
	next   time.Time
	ended  <-chan error
}

func (s *starter) once(p location, start func() (<-chan error, error)) error {
	if time.Now().Before(s.next) {
		return nil
	}
	if s.unlock == nil {
		unlock, ok, err := filelock.Try(p.start)
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
		s.unlock = unlock
		return nil // the previous holder of the lock may have started a daemon: try again
	}
	s.next = time.Now().Add(time.Second) // it may have lost the race against a daemon that has ended since
	var err error
	s.ended, err = start()
	return err
}

func (s *starter) done() {
	if s.unlock != nil {
		s.unlock()
	}
}

// greet connects and exchanges the first lines. The connection is closed unless
// the daemon serves this client.
func (b *Bridge) greet(ctx context.Context, p location) (net.Conn, *bufio.Reader, Welcome, error) {
	var w Welcome
	conn, err := dial(p)
	if err != nil {
		return nil, nil, w, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	br := bufio.NewReaderSize(conn, 64<<10)
	h := b.Hello
	if b.Vary != nil {
		b.Vary(&h)
	}
	err = writeLine(conn, h)
	if err == nil {
		err = readLine(conn, br, connectTime, &w)
	}
	if err == nil && w.Refused == "" && !w.Moved {
		return conn, br, w, nil
	}
	_ = conn.Close()
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) { // it ended while we connected
		err = fs.ErrNotExist
	}
	return nil, nil, w, err
}
