package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// killMargin is the delay after the time limit before the container is killed. Its runner enforces
// the limit too, and reports the line of the program. Node must be stopped for that as by a
// debugger.
const (
	killMargin     = 500 * time.Millisecond
	nodeKillMargin = 1500 * time.Millisecond
)

// An execution is a program in a container.
type execution struct {
	*program
	r   *runner
	c   *container
	cpu *cpuSample
}

// run runs the program to the end of the container. stillborn reports that the container was dead
// before its first message, for a reason other than the program.
func (x *execution) run(ctx context.Context) (res sandbox.Result, stillborn bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := &host.Talk{
		Request: x.req, Limits: x.limits, R: x.c.reader, W: x.c.writer,
		Stdout: host.NewOutput(x.req.Stdout, x.limits.OutputBytes),
		Stderr: host.NewOutput(x.req.Stderr, x.limits.OutputBytes),
	}
	if f := x.c.files; f.key != "" && x.c.filesErr == nil {
		t.FilesDir = f.Dir
	}
	left := x.left()
	if x.bundle != nil {
		t.Amend = func(e *wire.Exec) {
			*e = wire.Exec{
				Language: e.Language, Bundle: x.bundle,
				Timeout: left, Grace: min(e.Grace, left), ResultBytes: e.ResultBytes,
			}
		}
	}
	margin := killMargin
	if x.bundle != nil {
		margin = nodeKillMargin
	}
	clock := host.NewClock(left+margin, func() { cancel(host.ErrTimeout) }, t.TellClock)
	t.Calls = host.NewCalls(sandbox.WithPause(ctx, clock.Pause), x.req.Call, x.limits)
	x.cpu = sampleCPU(x.c, left)
	unkill := context.AfterFunc(ctx, func() {
		if context.Cause(ctx) == host.ErrTimeout {
			x.cpu.take()
		}
		x.c.disconnect()
	})

	done, err := t.Run(ctx)
	cause := context.Cause(ctx)
	made, running := t.Calls.Counts()
	unkill()
	cancel(host.ErrEnded)
	clock.Stop()
	t.Calls.Close()

	res = sandbox.Result{StdoutBytes: t.Stdout.Bytes(), StderrBytes: t.Stderr.Bytes(), Calls: made}
	switch {
	case err != nil:
		res.ExitCode, res.Error, stillborn = x.failure(cause, err, made, running)
		stillborn = stillborn && !t.Heard
	case done.ExitCode == sandbox.ExitTimeout:
		cpu := x.cpu.end()
		res.CPU = max(cpu, 0)
		done.Value, done.Error = nil, host.Timeout(x.req.Language, x.limits, made, running, cpu, done.Error)
		host.Finish(&res, x.limits, host.End(done))
	default:
		host.Finish(&res, x.limits, host.End(done))
	}
	res.Notes = append(res.Notes, host.Dropped(x.limits, t.Stdout, t.Stderr)...)
	if err := x.c.filesErr; err != nil {
		res.Notes = append(res.Notes, x.req.Files.Dir+" is empty, because its files could not be handed to the container: "+err.Error())
	}
	x.r.pool.Go(func(context.Context) {
		x.cpu.end()
		x.c.remove()
	})
	return res, stillborn
}

// failure describes why a container ended without a done frame; cause is the cause of its context,
// if that was done. unexplained means that the reason is unknown.
func (x *execution) failure(cause, err error, made, running int) (code int, text string, unexplained bool) {
	switch {
	case cause == host.ErrTimeout:
		return sandbox.ExitTimeout, host.Timeout(x.req.Language, x.limits, made, running, x.cpu.end(), ""), false
	case cause != nil:
		code, text = host.Canceled(cause)
		return code, text, false
	}
	if _, ok := errors.AsType[*host.ProtocolError](err); ok {
		x.r.log.Warn("sandbox container broke the protocol", "err", err)
		return sandbox.ExitMemory, "the sandbox container was killed: " + err.Error(), false
	}
	crash := x.c.out.crash.String()
	switch host.Classify(crash) {
	case host.CrashStack:
		return sandbox.ExitMemory, host.Nesting(x.limits), false
	case host.CrashMemory:
		return sandbox.ExitMemory, host.Memory(x.limits), false
	}
	how := "without a word"
	state, err := x.c.state()
	switch {
	case err != nil:
		how = err.Error()
	case state.OOMKilled, state.ExitCode == exitKilled:
		// The engine may not know the reason yet; only the kernel kills here.
		return sandbox.ExitMemory, host.Memory(x.limits), false
	case state.ExitCode != 0:
		how = fmt.Sprintf("exit status %d", state.ExitCode)
	}
	if state != nil && state.ExitCode == exitBadCall {
		x.r.log.Error("sandbox container made a forbidden system call and was killed: a script may have taken it over")
		return sandbox.ExitMemory, "the sandbox container was killed: it made a system call that is forbidden to scripts", false
	}
	if said := host.CrashReason(crash); said != "" {
		how = said
	}
	x.r.log.Warn("sandbox container died", "state", how, "stderr", crash)
	return sandbox.ExitMemory, fmt.Sprintf("the sandbox container died before the program had ended (%s): the system may be short of memory; run it again, with less data at one time", how), crash == ""
}

// exitKilled is the exit code of a container after SIGKILL.
const exitKilled = 128 + 9

// exitBadCall is the exit code of a container after SIGSYS.
const exitBadCall = 128 + 31

// A cpuSample is the processor time of a container shortly before the time limit of its program:
// engines do not report it for an ended container. Its methods are safe for concurrent use.
type cpuSample struct {
	c     *container
	timer *time.Timer
	once  sync.Once
	value time.Duration // read after once
}

// sampleEarly bounds the time before the limit at which the sample is taken.
const sampleEarly = 500 * time.Millisecond

func sampleCPU(c *container, limit time.Duration) *cpuSample {
	s := &cpuSample{c: c}
	s.timer = time.AfterFunc(max(limit-sampleEarly, limit*3/4), s.take)
	return s
}

// take takes the sample, unless it was taken already.
func (s *cpuSample) take() { s.once.Do(func() { s.value = s.c.cpuTime() }) }

// end returns the sample, or a negative duration if there is none.
func (s *cpuSample) end() time.Duration {
	s.timer.Stop()
	s.once.Do(func() { s.value = -1 })
	return s.value
}
