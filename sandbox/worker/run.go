package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
)

// killMargin is how long after the time limit the process is killed. The
// child knows the limit too, and a program that can be interrupted is then
// reported with the line it was at.
const killMargin = 250 * time.Millisecond

// errForbidden is the error of a program whose process the filter has ended.
const errForbidden = "the sandbox process was killed: it made a system call that is forbidden to scripts"

// errMemory is the cause with which the watchdog ends a run.
var errMemory = errors.New("memory limit reached")

// An execution is one program in one process.
type execution struct {
	req    *sandbox.Request
	limits sandbox.Limits
	p      *process
	log    *slog.Logger
	pool   *host.Pool[int64, *process]
}

// run runs the program to its end, which is the process's too.
func (x *execution) run(ctx context.Context) sandbox.Result {
	ctx, cancel := context.WithCancelCause(ctx)
	t := &host.Talk{
		Request: x.req, Limits: x.limits, R: x.p.r, W: x.p.w,
		Stdout: host.NewOutput(x.req.Stdout, x.limits.OutputBytes),
		Stderr: host.NewOutput(x.req.Stderr, x.limits.OutputBytes),
	}
	clock := host.NewClock(x.limits.Timeout+killMargin, func() { cancel(host.ErrTimeout) }, t.TellClock)
	t.Calls = host.NewCalls(sandbox.WithPause(ctx, clock.Pause), x.req.Call, x.limits)
	t.Calls.Journal = x.req.Journal
	unkill := context.AfterFunc(ctx, x.p.kill)
	watched := make(chan int64, 1)
	go func() {
		watched <- watchMemory(ctx, x.p.cmd.Process.Pid, x.limits.MemoryBytes, func() { cancel(errMemory) })
	}()

	before, _ := cpuTime(x.p.cmd.Process.Pid)
	done, err := t.Run(ctx)
	cause := context.Cause(ctx)
	_, running := t.Calls.Counts()
	unkill()
	cpu := x.end(err == nil) - before
	cancel(host.ErrEnded)
	clock.Stop()
	t.Calls.Close()
	peak := <-watched

	made, _ := t.Calls.Counts()
	res := sandbox.Result{
		StdoutBytes: t.Stdout.Bytes(),
		StderrBytes: t.Stderr.Bytes(),
		Calls:       made,
		CPU:         cpu,
	}
	switch {
	case err != nil:
		res.ExitCode, res.Error = x.failure(cause, err, made, running, cpu)
	case done.ExitCode == sandbox.ExitTimeout:
		done.Value, done.Error = nil, host.Timeout(x.req.Language, x.limits, made, running, cpu, done.Error)
		host.Finish(&res, x.limits, host.End(done))
	default:
		host.Finish(&res, x.limits, host.End(done))
	}
	if res.ExitCode == sandbox.ExitTimeout {
		res.Error += nearMemory(peak, x.limits.MemoryBytes)
	}
	res.Notes = append(res.Notes, host.Dropped(x.limits, t.Stdout, t.Stderr)...)
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

// end kills the process and returns the processor time that it has used. A
// process whose program has told how it ended has nothing more to tell: what it
// takes to take it apart, which is about as long as a small program runs, goes
// on in the background.
func (x *execution) end(told bool) time.Duration {
	if cpu, ok := cpuTime(x.p.cmd.Process.Pid); ok && told {
		x.p.kill()
		x.pool.Go(func(context.Context) { x.p.end() })
		return cpu
	}
	x.p.end()
	if s := x.p.state; s != nil {
		return s.UserTime() + s.SystemTime()
	}
	return 0
}

// failure says why a process ended without a done frame: cause is why its
// context was done by then, if it was.
func (x *execution) failure(cause, err error, made, running int, cpu time.Duration) (int, string) {
	switch {
	case errors.Is(cause, errMemory):
		return sandbox.ExitMemory, host.Memory(x.limits)
	case cause == host.ErrTimeout:
		return sandbox.ExitTimeout, host.Timeout(x.req.Language, x.limits, made, running, cpu, "")
	case cause != nil:
		return host.Canceled(cause)
	}
	if _, ok := errors.AsType[*host.ProtocolError](err); ok {
		x.log.Warn("sandbox process broke the protocol", "err", err)
		return sandbox.ExitMemory, "the sandbox process was killed: " + err.Error()
	}
	crash := x.p.crash.text()
	switch host.Classify(crash) {
	case host.CrashStack:
		return sandbox.ExitMemory, host.Nesting(x.limits)
	case host.CrashMemory:
		return sandbox.ExitMemory, host.Memory(x.limits)
	}
	how := "without a word"
	if x.p.state != nil {
		how = x.p.state.String()
	}
	if strings.Contains(how, "bad system call") {
		x.log.Error("sandbox process made a forbidden system call and was killed: a script may have taken it over")
		return sandbox.ExitMemory, errForbidden
	}
	x.log.Warn("sandbox process died", "state", how, "stderr", crash)
	if said := host.CrashReason(crash); said != "" {
		how = said
	}
	return sandbox.ExitMemory, fmt.Sprintf("the sandbox process died before the program had ended (%s): the system may be short of memory; run it again, with less data at one time", how)
}
