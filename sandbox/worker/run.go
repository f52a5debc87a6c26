package worker

import (
	"context"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
)

// run runs a program in a process to its end, which is the process's too.
func (l *Loan) run(req *sandbox.Request, limits sandbox.Limits) sandbox.Result {
	defer l.leave()
	t := &host.Talk{
		Request: req, Limits: limits, R: l.p.r, W: l.p.w,
		Stdout: host.NewOutput(req.Stdout, limits.OutputBytes),
		Stderr: host.NewOutput(req.Stderr, limits.OutputBytes),
	}
	clock := host.NewClock(limits.Timeout+host.KillMargin, func() { l.cancel(host.ErrTimeout) }, t.TellClock)
	t.Calls = host.NewCalls(sandbox.WithPause(l.ctx, clock.Pause), req.Call, limits)
	t.Calls.Journal = req.Journal

	done, err := t.Run(l.ctx)
	cause := context.Cause(l.ctx)
	_, running := t.Calls.Counts()
	k := l.end(err)
	clock.Stop()
	t.Calls.Close()

	made, _ := t.Calls.Counts()
	res := sandbox.Result{
		StdoutBytes: t.Stdout.Bytes(),
		StderrBytes: t.Stderr.Bytes(),
		Calls:       made,
		CPU:         k.CPU,
	}
	switch {
	case err == nil:
		host.Done(&res, done, k, req.Language, limits, made, running)
	case cause != nil && cause != host.ErrTimeout && cause != errMemory:
		res.ExitCode, res.Error = host.Canceled(cause)
	default:
		res.ExitCode, res.Error = host.Killed(k, req.Language, limits, made, running)
	}
	if res.ExitCode == sandbox.ExitTimeout {
		res.Error += host.NearMemory(k.Peak, limits.MemoryBytes)
	}
	res.Notes = append(res.Notes, host.Dropped(limits, t.Stdout, t.Stderr)...)
	return res
}
