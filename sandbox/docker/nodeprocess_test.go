package docker

import (
	"context"
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/nodejs"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// localNode runs programs with the Node runner in a local process, without a container.
type localNode struct{}

func (localNode) Languages() []sandbox.Language { return node{}.languages() }
func (localNode) Close() error                  { return nil }

func (localNode) Run(ctx context.Context, req sandbox.Request) (res sandbox.Result, err error) {
	start := time.Now()
	defer func() { res.Duration = time.Since(start) }()
	limits := req.Limits.WithDefaults()
	if res, refused := host.Refuse(&req, limits, node{}.languages()...); refused {
		return res, nil
	}
	bundle, notes, err := nodejs.Bundled(ctx, req, func(name string) bool { return slices.Contains(nodeGlobals, name) })
	if ctx.Err() != nil {
		code, text := host.Canceled(context.Cause(ctx))
		return sandbox.Result{ExitCode: code, Error: text}, nil
	}
	if err != nil {
		return sandbox.Result{ExitCode: sandbox.ExitRefused, Error: err.Error(), Notes: notes}, nil
	}
	text, err := json.Marshal(bundle)
	if err != nil {
		return sandbox.Result{}, err
	}
	command := node{}.command(limits.MemoryBytes)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(host.ErrEnded)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = node{}.env()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return sandbox.Result{}, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return sandbox.Result{}, err
	}
	if err := cmd.Start(); err != nil {
		return sandbox.Result{}, err
	}
	defer func() { _ = cmd.Wait() }()
	r, w := wire.NewReader(out, wire.Slack), wire.NewWriter(in)
	if _, err := host.Greet(r, w, wire.Hello{Version: wire.Version}); err != nil {
		return sandbox.Result{}, err
	}
	inside := req
	inside.Check = nil
	t := &host.Talk{
		Request: &inside, Limits: limits, R: r, W: w,
		Stdout: host.NewOutput(req.Stdout, limits.OutputBytes), Stderr: host.NewOutput(req.Stderr, limits.OutputBytes),
		Amend: func(e *wire.Exec) {
			*e = wire.Exec{Language: e.Language, Bundle: text, Timeout: e.Timeout, Grace: e.Grace, ResultBytes: e.ResultBytes}
		},
	}
	clock := host.NewClock(limits.Timeout+nodeKillMargin, func() { cancel(host.ErrTimeout) }, t.TellClock)
	defer clock.Stop()
	t.Calls = host.NewCalls(sandbox.WithPause(ctx, clock.Pause), req.Call, limits)
	done, err := t.Run(ctx)
	cause := context.Cause(ctx)
	made, running := t.Calls.Counts()
	cancel(host.ErrEnded)
	t.Calls.Close()
	res = sandbox.Result{StdoutBytes: t.Stdout.Bytes(), StderrBytes: t.Stderr.Bytes(), Calls: made}
	switch {
	case err != nil && cause == host.ErrTimeout:
		res.ExitCode, res.Error = sandbox.ExitTimeout, host.Timeout(req.Language, limits, made, running, -1, "")
	case err != nil && cause != nil:
		res.ExitCode, res.Error = host.Canceled(cause)
	case err != nil:
		res.ExitCode, res.Error = sandbox.ExitMemory, err.Error()
	case done.ExitCode == sandbox.ExitTimeout:
		done.Value, done.Error = nil, host.Timeout(req.Language, limits, made, running, 0, done.Error)
		fallthrough
	default:
		host.Finish(&res, limits, host.End(done))
	}
	res.Notes = append(append(notes, res.Notes...), host.Dropped(limits, t.Stdout, t.Stderr)...)
	return res, nil
}

// What the runner does with numbers, lines and long output holds in a local process too,
// without Docker. A process for each case takes time, so the other cases need a container.
func TestNodeLocally(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no node here")
	}
	about := regexp.MustCompile("integer|bigint|list in place|pipe|its lines|line of the call|older ones")
	tried := 0
	for _, tt := range nodeCases {
		if !about.MatchString(tt.name) {
			continue
		}
		tried++
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.try(t, localNode{}, sandbox.Request{Call: nodeAnswer, Modules: shout, Limits: sandbox.Limits{ResultBytes: 1 << 20}})
		})
	}
	if tried < 10 {
		t.Errorf("%d cases, want 10 or more", tried)
	}
}
