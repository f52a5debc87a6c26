package worker

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// errMemory is the cause with which the watchdog ends a run.
var errMemory = errors.New("memory limit reached")

// A Lender provides processes for programs of a host elsewhere. It is safe for
// concurrent use.
type Lender struct{ r *runner }

// NewLender returns a Lender, as New does a runner.
func NewLender(opts *Options) *Lender { return &Lender{newRunner(opts)} }

// Layers are what contains the processes. An error means that none starts.
func (l *Lender) Layers(ctx context.Context) ([]sandbox.Layer, error) { return l.r.Layers(ctx) }

// Lend returns a process for one program that may use so much memory. It ends
// when ctx is done, and must be ended.
func (l *Lender) Lend(ctx context.Context, memory int64) (*Loan, error) { return l.r.lend(ctx, memory) }

// Close ends all processes and returns when all loans have ended.
func (l *Lender) Close() { l.r.pool.Close() }

// A Loan is a contained process that has said that it is ready, and waits for
// its program.
type Loan struct {
	r *runner
	p *process

	ctx     context.Context
	cancel  context.CancelCauseFunc
	leave   func()
	unkill  func() bool
	refill  *time.Timer
	watched chan int64    // peak memory, after the watch ended
	before  time.Duration // processor time before the program
}

func (r *runner) lend(ctx context.Context, memory int64) (*Loan, error) {
	ctx, leave, err := r.register(ctx)
	if err != nil {
		return nil, err
	}
	p, _, err := r.pool.Take(ctx, memory, false)
	if err != nil {
		leave()
		return nil, err
	}
	return r.lendThis(ctx, p, memory, leave), nil
}

// lendThis lends a process; leave is called when the loan ends.
func (r *runner) lendThis(ctx context.Context, p *process, memory int64, leave func()) *Loan {
	l := &Loan{r: r, p: p, leave: leave, watched: make(chan int64, 1)}
	l.refill = time.AfterFunc(refillAfter, r.pool.Fill)
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	l.unkill = context.AfterFunc(l.ctx, p.kill)
	go func() {
		l.watched <- watchMemory(l.ctx, p.cmd.Process.Pid, memory, func() { l.cancel(errMemory) })
	}()
	l.before, _ = cpuTime(p.cmd.Process.Pid)
	return l
}

// Context is done when the process is killed.
func (l *Loan) Context() context.Context { return l.ctx }

// Layers are what contains the process, as it says itself before it has the
// program.
func (l *Loan) Layers() []sandbox.Layer { return l.p.layers }

// Write writes frames to the process. It blocks as long as the process does not
// read, and lives.
func (l *Loan) Write(b []byte) (int, error) { return l.p.in.Write(b) }

// Frames reads the frames of the process, until it is killed.
func (l *Loan) Frames() *wire.Reader { return l.p.r }

// Kill ends the process for a reason, unless it has ended.
func (l *Loan) Kill(why error) { l.cancel(why) }

// End ends the process, and says how it ended: err is that of its frames, nil if
// its program has told how it ended.
func (l *Loan) End(err error) wire.Killed {
	defer l.leave()
	return l.end(err)
}

func (l *Loan) end(err error) wire.Killed {
	cause := context.Cause(l.ctx)
	l.unkill()
	k := wire.Killed{CPU: l.reap(err == nil) - l.before}
	l.cancel(host.ErrEnded)
	k.Peak = <-l.watched
	if err != nil {
		k.Cause, k.Detail = l.why(cause, err)
	}
	if !l.r.opts.Prepare { // else what was prepared runs now, and the timer is left to fill
		l.refill.Stop()
		l.r.pool.Fill()
	}
	return k
}

// reap kills the process and returns the processor time that it has used. After its
// program has reported its end, the rest of the teardown, which takes about as long as
// a small program, continues in the background.
func (l *Loan) reap(told bool) time.Duration {
	if cpu, ok := cpuTime(l.p.cmd.Process.Pid); ok && told {
		l.p.kill()
		l.r.pool.Go(func(context.Context) { l.p.end() })
		return cpu
	}
	l.p.end()
	if s := l.p.state; s != nil {
		return s.UserTime() + s.SystemTime()
	}
	return 0
}

// why says why a process ended without a done frame: cause is why its context
// was done by then, if it was.
func (l *Loan) why(cause, err error) (wire.Cause, string) {
	switch {
	case errors.Is(cause, errMemory):
		return wire.CauseMemory, ""
	case cause == host.ErrTimeout:
		return wire.CauseTime, ""
	case cause != nil:
		return wire.CauseEnded, cause.Error()
	}
	if _, ok := errors.AsType[*host.ProtocolError](err); ok {
		l.r.log.Warn("sandbox process broke the protocol", "err", err)
		return wire.CauseProtocol, err.Error()
	}
	crash := l.p.crash.text()
	switch host.Classify(crash) {
	case host.CrashStack:
		return wire.CauseNesting, ""
	case host.CrashMemory:
		return wire.CauseMemory, ""
	}
	how := "without a word"
	if l.p.state != nil {
		how = l.p.state.String()
	}
	if strings.Contains(how, "bad system call") {
		l.r.log.Error("sandbox process made a forbidden system call and was killed: a script may have taken it over")
		return wire.CauseForbidden, ""
	}
	l.r.log.Warn("sandbox process died", "state", how, "stderr", crash)
	if said := host.CrashReason(crash); said != "" {
		how = said
	}
	return wire.CauseDied, how
}
