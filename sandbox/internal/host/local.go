package host

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A Session is what a program that runs in this process reaches of its host.
// Its methods are safe for concurrent use.
type Session struct {
	Limits sandbox.Limits
	Calls  *Calls

	mu             sync.Mutex
	stdout, stderr *Output
}

// Print takes what the program prints; stream 2 is stderr.
func (s *Session) Print(stream int, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stream == 2 {
		s.stderr.Print(p)
		return
	}
	s.stdout.Print(p)
}

// An End is how a program says that it ended; its fields are sandbox.Result's.
type End struct {
	ExitCode int
	Value    json.RawMessage
	Error    string
	Notes    []string
	Reads    []string
	Absent   []string
	Diverged bool
}

// A Local runs programs in this process. The zero value works; what it runs
// must be safe for concurrent use.
type Local struct {
	mu     sync.Mutex
	closed bool
	nextID int
	cancel map[int]context.CancelCauseFunc
	active sync.WaitGroup
}

// Run runs program under what limits of req can be kept without a process
// around it. program must return soon after its context is done.
func (l *Local) Run(ctx context.Context, req *sandbox.Request, languages []sandbox.Language, program func(context.Context, *Session) End) (sandbox.Result, error) {
	start := time.Now()
	limits := req.Limits.WithDefaults()
	res, refused := Refuse(req, limits, languages...)
	if !refused {
		ctx, cancel := context.WithCancelCause(ctx)
		id, err := l.admit(cancel)
		if err != nil {
			return sandbox.Result{}, err
		}
		defer l.leave(id)
		res = runLocal(ctx, cancel, req, limits, program)
	}
	res.Duration = time.Since(start)
	return res, nil
}

func runLocal(ctx context.Context, cancel context.CancelCauseFunc, req *sandbox.Request, limits sandbox.Limits, program func(context.Context, *Session) End) (res sandbox.Result) {
	if ctx.Err() != nil {
		res.ExitCode, res.Error = Canceled(context.Cause(ctx))
		return res
	}
	clock := NewClock(limits.Timeout, func() { cancel(ErrTimeout) }, nil)
	defer clock.Stop()
	s := &Session{
		Limits: limits,
		Calls:  NewCalls(sandbox.WithPause(ctx, clock.Pause), req.Call, limits),
		stdout: NewOutput(req.Stdout, limits.OutputBytes),
		stderr: NewOutput(req.Stderr, limits.OutputBytes),
	}
	end := program(WithLimit(ctx, time.Now(), limits.Timeout), s)
	cause := context.Cause(ctx)
	_, running := s.Calls.Counts()
	cancel(ErrEnded)
	s.Calls.Close()
	made, _ := s.Calls.Counts()

	s.mu.Lock()
	defer s.mu.Unlock()
	res = sandbox.Result{StdoutBytes: s.stdout.Bytes(), StderrBytes: s.stderr.Bytes(), Calls: made}
	switch {
	case end.ExitCode == sandbox.ExitTimeout && cause == ErrTimeout:
		end.Error, end.Value = Timeout(req.Language, limits, made, running, -1, end.Error), nil
	case end.ExitCode == sandbox.ExitTimeout || end.ExitCode == sandbox.ExitCanceled:
		end.ExitCode, end.Error = Canceled(cause)
		end.Value = nil
	}
	Finish(&res, limits, end)
	res.Notes = append(res.Notes, Dropped(limits, s.stdout, s.stderr)...)
	return res
}

func (l *Local) admit(cancel context.CancelCauseFunc) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, ErrClosed
	}
	if l.cancel == nil {
		l.cancel = make(map[int]context.CancelCauseFunc)
	}
	l.nextID++
	l.cancel[l.nextID] = cancel
	l.active.Add(1)
	return l.nextID, nil
}

func (l *Local) leave(id int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel[id](nil)
	delete(l.cancel, id)
	l.active.Done()
}

// Close ends the runs in progress and waits for them.
func (l *Local) Close() error {
	l.mu.Lock()
	l.closed = true
	for _, cancel := range l.cancel {
		cancel(ErrClosed)
	}
	l.mu.Unlock()
	l.active.Wait()
	return nil
}
