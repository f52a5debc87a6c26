package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// answerTime is how much longer than its server a program's clock here runs: it
// ends what no server has ended.
const answerTime = time.Second

// helloFrame is the first frame of a program.
type helloFrame = wire.Hello

func hello(limits sandbox.Limits) helloFrame {
	return helloFrame{
		Version: wire.Version, MemoryBytes: limits.MemoryBytes,
		Timeout: limits.Timeout, FrameBytes: limits.ResultBytes + wire.Slack,
	}
}

// A stream is a connection to a server, for one program.
type stream struct {
	b      *backend
	conn   net.Conn
	r      *wire.Reader
	w      *wire.Writer
	load   wire.Load
	layers []sandbox.Layer

	first   chan heard    // receives the answer to hello
	over    chan struct{} // closed when it has come
	once    sync.Once
	backend *backend // backend that counts the program; nil before ready
	refill  *time.Timer
}

// heard is a frame that was read, or why not.
type heard struct {
	f   wire.Frame
	err error
}

// listen reads the first frame: before hello it can only be the end of the stream.
func (st *stream) listen() {
	f, err := st.r.Next()
	st.first <- heard{f, err}
	close(st.over)
}

// alive says whether a stream that waits was still there just now.
func (st *stream) alive() bool {
	select {
	case <-st.over:
		return false
	default:
		return true
	}
}

var errNotReady = fmt.Errorf("it has no process ready within %s", host.Seconds(readyTime))

// hello asks the server for a process.
func (st *stream) hello(ctx context.Context, h helloFrame) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTime, errNotReady)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { st.conn.Close() })
	text, err := wire.Marshal(h)
	if err != nil {
		return err
	}
	if err = st.w.Write(wire.TypeHello, 0, text); err == nil {
		got := <-st.first
		st.layers, err = host.Ready(got.f, got.err)
	}
	if !stop() {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return sandbox.RequireLayers(st.layers, st.b.r.opts.Require)
}

// end closes the stream, which ends the program.
func (st *stream) end() {
	st.once.Do(func() {
		st.conn.Close()
		if st.backend == nil {
			return
		}
		st.backend.count(-1)
		st.refill.Stop()
		st.backend.pool.Fill()
	})
}

// run runs a program to its end.
func (st *stream) run(ctx context.Context, req *sandbox.Request, limits sandbox.Limits) sandbox.Result {
	ctx, cancel := context.WithCancelCause(ctx)
	killed := new(wire.Killed)
	t := &host.Talk{
		Request: req, Limits: limits, R: st.r, W: st.w, Killed: killed,
		Stdout: host.NewOutput(req.Stdout, limits.OutputBytes),
		Stderr: host.NewOutput(req.Stderr, limits.OutputBytes),
	}
	clock := host.NewClock(limits.Timeout+host.KillMargin+answerTime, func() { cancel(host.ErrTimeout) }, t.TellClock)
	t.Calls = host.NewCalls(sandbox.WithPause(ctx, clock.Pause), req.Call, limits)
	t.Calls.Journal = req.Journal
	unkill := context.AfterFunc(ctx, func() { st.conn.Close() })

	done, err := t.Run(ctx)
	cause := context.Cause(ctx)
	_, running := t.Calls.Counts()
	unkill()
	st.end()
	cancel(host.ErrEnded)
	clock.Stop()
	t.Calls.Close()

	made, _ := t.Calls.Counts()
	res := sandbox.Result{StdoutBytes: t.Stdout.Bytes(), StderrBytes: t.Stderr.Bytes(), Calls: made, CPU: killed.CPU}
	_, broke := errors.AsType[*host.ProtocolError](err)
	switch {
	case err == nil:
		host.Done(&res, done, *killed, req.Language, limits, made, running)
	case cause == host.ErrTimeout:
		st.b.fail(errors.New("no answer when the time of a program was up"))
		res.ExitCode, res.Error = sandbox.ExitTimeout, host.Timeout(req.Language, limits, made, running, -1, "")+
			fmt.Sprintf("\nsandboxd %s did not answer any more: nobody knows what the script was doing", st.b.address)
	case cause != nil:
		res.ExitCode, res.Error = host.Canceled(cause)
	case broke:
		st.b.r.log.Warn("sandboxd broke the protocol", "address", st.b.address, "err", err)
		res.ExitCode, res.Error = sandbox.ExitMemory, "the sandbox process was killed: "+err.Error()
	case killed.Cause != "":
		res.ExitCode, res.Error = host.Killed(*killed, req.Language, limits, made, running)
	default:
		st.b.r.log.Warn("a sandbox was lost", "address", st.b.address)
		res.ExitCode, res.Error = sandbox.ExitMemory, lost(st.b.address, made)
	}
	if res.ExitCode == sandbox.ExitTimeout {
		res.Error += host.NearMemory(killed.Peak, limits.MemoryBytes)
	}
	res.Notes = append(res.Notes, host.Dropped(limits, t.Stdout, t.Stderr)...)
	return res
}

// lost returns the text for a program after the loss of its server.
func lost(address string, calls int) string {
	text := fmt.Sprintf("the sandbox was lost: sandboxd %s, or the network to it, ended before the script had", address)
	switch calls {
	case 0:
		return text + "; it had made no calls: run it again"
	case 1:
		return text + "; 1 call had been made and is not undone: see what it did before you run the script again"
	}
	return fmt.Sprintf("%s; %d calls had been made and are not undone: see what they did before you run the script again", text, calls)
}
