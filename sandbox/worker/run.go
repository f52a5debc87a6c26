package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// killMargin is how long after the time limit the process is killed. The
// child knows the limit too, and a program that can be interrupted is then
// reported with the line it was at.
const killMargin = 250 * time.Millisecond

// errMemory is the cause with which the watchdog ends a run.
var errMemory = errors.New("memory limit reached")

// An execution is one program in one process.
type execution struct {
	req            *sandbox.Request
	limits         sandbox.Limits
	p              *process
	log            *slog.Logger
	calls          *host.Calls
	stdout, stderr *host.Output
	surveyed       bool         // the program was checked
	background     func(func()) // runs what Close waits for
}

// run runs the program to its end, which is the process's too.
func (x *execution) run(ctx context.Context) sandbox.Result {
	ctx, cancel := context.WithCancelCause(ctx)
	clock := host.NewClock(x.limits.Timeout+killMargin, func() { cancel(host.ErrTimeout) }, x.tellClock)
	x.calls = host.NewCalls(sandbox.WithPause(ctx, clock.Pause), x.req.Call, x.limits)
	x.stdout = host.NewOutput(x.req.Stdout, x.limits.OutputBytes)
	x.stderr = host.NewOutput(x.req.Stderr, x.limits.OutputBytes)
	unkill := context.AfterFunc(ctx, x.p.kill)
	watched := make(chan int64, 1)
	go func() {
		watched <- watchMemory(ctx, x.p.cmd.Process.Pid, x.limits.MemoryBytes, func() { cancel(errMemory) })
	}()

	before, _ := cpuTime(x.p.cmd.Process.Pid)
	done, err := x.talk(ctx)
	cause := context.Cause(ctx)
	_, running := x.calls.Counts()
	unkill()
	cpu := x.end(err == nil) - before
	cancel(host.ErrEnded)
	clock.Stop()
	x.calls.Close()
	peak := <-watched

	made, _ := x.calls.Counts()
	res := sandbox.Result{
		StdoutBytes: x.stdout.Bytes(),
		StderrBytes: x.stderr.Bytes(),
		Calls:       made,
		CPU:         cpu,
	}
	switch {
	case err != nil:
		res.ExitCode, res.Error = x.failure(cause, err, made, running, cpu)
	case done.ExitCode == sandbox.ExitTimeout:
		done.Value, done.Error = nil, host.Timeout(x.limits, made, running, cpu, done.Error)
		host.Finish(&res, x.limits, host.End(done))
	default:
		host.Finish(&res, x.limits, host.End(done))
	}
	if res.ExitCode == sandbox.ExitTimeout {
		res.Error += nearMemory(peak, x.limits.MemoryBytes)
	}
	res.Notes = append(res.Notes, host.Dropped(x.limits, x.stdout, x.stderr)...)
	return res
}

// nearMemory is what a timeout says more when the program's memory had come near
// its limit, where it mostly collects garbage.
func nearMemory(peak, limit int64) string {
	if peak < limit/5*4 {
		return ""
	}
	return fmt.Sprintf("\nit had come to %d MiB of the %d MiB of memory that it may use: keep less at one time", peak>>20, limit>>20)
}

// tellClock lets the child's clock follow the host's. A write fails only when
// the process is gone, which talk sees.
func (x *execution) tellClock(paused bool) {
	t := wire.TypeResume
	if paused {
		t = wire.TypePause
	}
	x.p.w.Write(t, 0)
}

// end kills the process and returns the processor time that it has used. A
// process whose program has told how it ended has nothing more to tell: what it
// takes to take it apart, which is about as long as a small program runs, goes
// on in the background.
func (x *execution) end(told bool) time.Duration {
	if cpu, ok := cpuTime(x.p.cmd.Process.Pid); ok && told {
		x.p.kill()
		x.background(x.p.end)
		return cpu
	}
	x.p.end()
	if s := x.p.state; s != nil {
		return s.UserTime() + s.SystemTime()
	}
	return 0
}

// talk sends the program and handles frames until it has ended.
func (x *execution) talk(ctx context.Context) (wire.Done, error) {
	language := x.req.Language
	if language == "" {
		language = sandbox.TypeScript
	}
	exec, err := wire.Marshal(wire.Exec{
		Language:    language,
		Code:        x.req.Code,
		Modules:     x.req.Modules,
		ModuleNames: x.req.ModuleNames,
		Timeout:     x.limits.Timeout,
		Grace:       min(x.limits.Grace, x.limits.Timeout),
		ResultBytes: x.limits.ResultBytes,
		Check:       x.req.Check != nil,
		CheckSource: x.req.CheckSource,
	})
	if err != nil {
		return wire.Done{}, err
	}
	// A process that does not read cannot block the host here or below for
	// longer than it lives, and the timer bounds that.
	if err := x.p.w.Write(wire.TypeExec, 0, exec); err != nil {
		return wire.Done{}, errEnded
	}
	x.p.r.SetMax(x.limits.ResultBytes + wire.Slack)
	for {
		f, err := x.p.r.Next()
		if err != nil {
			if _, tooLong := errors.AsType[*wire.SizeError](err); tooLong {
				return wire.Done{}, &protocolError{err}
			}
			return wire.Done{}, errEnded
		}
		switch f.Type {
		case wire.TypeStdout:
			x.stdout.Print(f.Payload)
		case wire.TypeStderr:
			x.stderr.Print(f.Payload)
		case wire.TypeCall:
			if err := x.call(ctx, f); err != nil {
				return wire.Done{}, &protocolError{err}
			}
		case wire.TypeSurvey:
			if err := x.check(ctx, f); err != nil {
				return wire.Done{}, &protocolError{err}
			}
		case wire.TypeDone:
			done, err := wire.DecodeDone(f.Payload)
			if err != nil {
				return wire.Done{}, &protocolError{err}
			}
			return done, nil
		default:
			return wire.Done{}, &protocolError{fmt.Errorf("%s is no frame of a running program", f.Type)}
		}
	}
}

// errEnded means that the process ended without saying how.
var errEnded = fmt.Errorf("the process ended: %w", io.EOF)

// A protocolError is a frame that a runner in its right mind does not send.
type protocolError struct{ err error }

func (e *protocolError) Error() string { return e.err.Error() }

// call starts one host call. It comes back when there is room for the next
// one, so that a program that calls and calls is held back by its own calls.
func (x *execution) call(ctx context.Context, f wire.Frame) error {
	c, err := wire.DecodeCall(f.Payload)
	if err != nil {
		return err
	}
	id := f.ID
	x.calls.Start(c, func(value json.RawMessage, err error) {
		// A run that is being ended ends for that reason, not for the errors
		// that its calls end with. A write fails only when the process is
		// gone, which talk sees.
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			x.p.w.WriteError(id, err)
			return
		}
		x.p.w.Write(wire.TypeResult, id, value)
	})
	x.calls.Room()
	return nil
}

// check answers the one survey of a program, which waits for it.
func (x *execution) check(ctx context.Context, f wire.Frame) error {
	if x.req.Check == nil || x.surveyed {
		return errors.New("survey was not asked for")
	}
	x.surveyed = true
	var p sandbox.Parsed
	if err := json.Unmarshal(f.Payload, &p); err != nil {
		return fmt.Errorf("survey: %w", err)
	}
	raw, err := wire.Marshal(x.req.Check(ctx, p))
	if err != nil {
		return err
	}
	x.p.w.Write(wire.TypeVerdict, 0, raw) // fails only when the process is gone, which talk sees
	return nil
}

// failure says why a process ended without a done frame: cause is why its
// context was done by then, if it was.
func (x *execution) failure(cause, err error, made, running int, cpu time.Duration) (int, string) {
	switch {
	case errors.Is(cause, errMemory):
		return sandbox.ExitMemory, host.Memory(x.limits)
	case cause == host.ErrTimeout:
		return sandbox.ExitTimeout, host.Timeout(x.limits, made, running, cpu, "")
	case cause != nil:
		return host.Canceled(cause)
	}
	if _, ok := errors.AsType[*protocolError](err); ok {
		x.log.Warn("sandbox process broke the protocol", "err", err)
		return sandbox.ExitMemory, "the sandbox process was killed: " + err.Error()
	}
	crash := x.p.crash.text()
	switch classify(crash) {
	case crashStack:
		return sandbox.ExitMemory, host.Nesting(x.limits)
	case crashMemory:
		return sandbox.ExitMemory, host.Memory(x.limits)
	}
	how := "without a word"
	if x.p.state != nil {
		how = x.p.state.String()
	}
	if strings.Contains(how, "bad system call") {
		x.log.Error("sandbox process made a forbidden system call and was killed: a script may have taken it over")
		return sandbox.ExitMemory, "the sandbox process was killed: it made a system call that is forbidden to scripts"
	}
	x.log.Warn("sandbox process died", "state", how, "stderr", crash)
	if said := firstLine(crash); said != "" {
		how = said
	}
	return sandbox.ExitMemory, fmt.Sprintf("the sandbox process died before the program had ended (%s): the system may be short of memory; run it again, with less data at one time", how)
}
