package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/jsrun"
	"github.com/mcpbroker/mcpbroker/sandbox/nodejs"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// The arguments that make a process a child. Nobody types the first.
const (
	argv0 = "broker-sandbox"
	argv1 = "sandbox-worker"
)

// Command is the command line of a process that runs one program, for hosts that
// start it by other means than this package, such as in a container. Its main
// must call Main if IsChild.
func Command() []string { return []string{argv0, argv1} }

// IsChild says whether this process was started to run one program. Then its
// main must do nothing but call Main.
func IsChild() bool {
	return len(os.Args) >= 2 && os.Args[0] == argv0 && os.Args[1] == argv1
}

// Main contains this process, runs the program that its host sends, and ends
// the process. It must come before everything that opens files, starts
// goroutines, or reads the environment, which has nothing of the host's.
func Main() {
	if err := closeInherited(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox process: close inherited files:", err)
		os.Exit(1)
	}
	probed()
	serve(harden)
}

// serve is Main for a process that contain contains.
func serve(contain func(memory int64) ([]sandbox.Layer, error)) {
	c := &conn{
		contain: contain,
		r:       wire.NewReader(stdin(), wire.Slack),
		w:       wire.NewWriter(os.Stdout),
		calls:   make(map[uint32]func(json.RawMessage, error)),
		wake:    make(chan struct{}, 1),
		verdict: make(chan sandbox.Verdict, 1),
	}
	if err := c.serve(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox process:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A conn is the child's side of the frames. It is the jsrun.Host of the one
// program that the child runs.
type conn struct {
	contain func(memory int64) ([]sandbox.Layer, error)
	r       *wire.Reader
	w       *wire.Writer
	hello   wire.Hello
	exec    wire.Exec

	mu    sync.Mutex
	last  uint32
	calls map[uint32]func(json.RawMessage, error) // by id, not yet answered

	outMu     sync.Mutex
	out       []byte // printed, not yet sent
	outStream int
	wake      chan struct{} // holds a token while flush should run

	clock  *host.Clock // of the program; set before answers runs
	resume func()      // while the clock is paused; belongs to answers

	verdict chan sandbox.Verdict // the answer to the one survey
}

// serve does hello, ready, exec and done.
func (c *conn) serve() error {
	// A runtime is set up from what is compiled in, beside the containment.
	spare, arrived, greeted := make(chan *jsrun.Spare, 1), make(chan struct{}), make(chan bool, 1)
	go func() {
		growStack()
		spare <- jsrun.NewSpare()
		if <-greeted {
			warm(c.hello.Prepare, arrived)
		}
	}()
	growStack()
	if err := c.expect(wire.TypeHello, &c.hello); err != nil {
		return err
	}
	hello := &c.hello
	if hello.Version != wire.Version {
		return fmt.Errorf("the host speaks version %d of the protocol, this is version %d", hello.Version, wire.Version)
	}
	tune(hello.MemoryBytes)
	greeted <- hello.Warm
	if err := c.ready(); err != nil {
		return err
	}
	// The host is trusted; the program that it sends may well be large.
	c.r.SetMax(1<<31 - 1)
	if err := c.expect(wire.TypeExec, &c.exec); err != nil {
		return err
	}
	close(arrived)
	limitCPU(c.exec.Timeout)
	time.AfterFunc(oneThreadFor, moreThreads)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ctx = host.WithLimit(ctx, time.Now(), c.exec.Timeout)
	c.clock = host.NewClock(c.exec.Timeout, func() { cancel(host.ErrTimeout) }, nil)
	defer c.clock.Stop()
	go c.answers()
	go c.flusher()
	return c.run(ctx, <-spare)
}

// growStack gives this goroutine a large stack while there is little on it. A
// stack that grows later is copied frame by frame, and what reads programs goes
// deep.
//
//go:noinline
func growStack() {
	var room [16 << 10]byte
	runtime.KeepAlive(&room)
}

// warmAfter is how long a process waits for its program before it warms up: under
// load a program is there by then, and has the processors for itself.
const warmAfter = 10 * time.Millisecond

// warm does what makes the first program slow, unless one has arrived.
func warm(prepare bool, arrived <-chan struct{}) {
	select {
	case <-arrived:
		return
	case <-time.After(warmAfter):
	}
	if prepare {
		bundle(context.Background(), script.Warm, nil)
	} else {
		jsrun.Warm()
	}
}

// ready contains the process, and tells the host what contains it.
func (c *conn) ready() error {
	layers, err := c.contain(c.hello.MemoryBytes)
	if err != nil {
		return err
	}
	text, err := wire.Marshal(wire.Ready{Layers: layers})
	if err != nil {
		return err
	}
	return c.w.Write(wire.TypeReady, 0, text)
}

// expect reads the next frame, which must be of type t, into v.
func (c *conn) expect(t wire.Type, v any) error {
	f, err := c.r.Next()
	if err != nil {
		return fmt.Errorf("wait for %s: %w", t, err)
	}
	if f.Type != t {
		return fmt.Errorf("wait for %s: the host sent %s", t, f.Type)
	}
	if err := json.Unmarshal(f.Payload, v); err != nil {
		return fmt.Errorf("read %s: %w", t, err)
	}
	return nil
}

// run runs the program, in s if that is not nil, and reports its end.
func (c *conn) run(ctx context.Context, s *jsrun.Spare) error {
	var check sandbox.CheckFunc
	if c.exec.Check {
		check = c.check
	}
	program := sandbox.Request{
		Language:    c.exec.Language,
		Code:        c.exec.Code,
		File:        c.exec.File,
		Modules:     c.exec.Modules,
		ModuleNames: c.exec.ModuleNames,
		Scope:       c.exec.Scope,
		Limits:      sandbox.Limits{Grace: c.exec.Grace},
		Check:       check,
		CheckSource: c.exec.CheckSource,
		Journal:     c.exec.Journal,
	}
	var o jsrun.Outcome
	if c.hello.Prepare {
		o = bundle(ctx, program, c.hello.Globals)
	} else {
		o = s.Run(ctx, program, c)
	}
	limits := sandbox.Limits{ResultBytes: c.exec.ResultBytes}
	var res sandbox.Result
	host.Finish(&res, limits, host.End(o))
	c.flush()
	return c.w.WriteDone(wire.Done{ExitCode: res.ExitCode, Value: res.Value, Error: res.Error, Notes: res.Notes, Reads: res.Reads, Absent: res.Absent, Diverged: res.Diverged})
}

// bundle makes the program ready for another engine.
func bundle(ctx context.Context, p script.Program, globals []string) jsrun.Outcome {
	b, notes, err := nodejs.Bundled(ctx, p, func(name string) bool { return slices.Contains(globals, name) })
	if ctx.Err() != nil {
		code, text := host.Canceled(context.Cause(ctx))
		return jsrun.Outcome{ExitCode: code, Error: text}
	}
	if err != nil {
		return jsrun.Outcome{ExitCode: sandbox.ExitRefused, Error: err.Error(), Notes: notes}
	}
	value, err := wire.Marshal(b)
	if err != nil {
		return jsrun.Outcome{ExitCode: sandbox.ExitRefused, Error: err.Error()}
	}
	return jsrun.Outcome{Value: value, Notes: notes}
}

// check asks the host what it thinks of the program.
func (c *conn) check(ctx context.Context, p sandbox.Parsed) sandbox.Verdict {
	raw, err := wire.Marshal(p)
	if err != nil || c.w.Write(wire.TypeSurvey, 0, raw) != nil {
		return sandbox.Verdict{} // the host is gone, and answers ends the process
	}
	select {
	case v := <-c.verdict:
		return v
	case <-ctx.Done():
		return sandbox.Verdict{}
	}
}

// Call implements jsrun.Host.
func (c *conn) Call(call sandbox.Call, done func(json.RawMessage, error)) {
	if err := host.ArgumentTooLarge(call, c.exec.ResultBytes); err != nil {
		done(nil, err)
		return
	}
	c.mu.Lock()
	c.last++
	id := c.last
	if call.Seq > 0 {
		id = uint32(call.Seq)
	}
	c.calls[id] = done
	c.mu.Unlock()
	if !c.exec.Lines {
		call.Line = 0
	}
	c.flush()
	if len(call.Steps) > 0 {
		c.w.Write(wire.TypeSteps, id, call.Steps) // fails only when the host is gone
	}
	if err := c.w.WriteCall(id, call); err != nil {
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
		done(nil, err)
	}
}

// Refuse says why a call is not made, before it is numbered.
func (c *conn) Refuse(call sandbox.Call) error { return host.RefuseCall(call, c.exec.ResultBytes) }

// Replayed tells the host that the program goes on from where its runs before
// have come.
func (c *conn) Replayed(n int) { c.w.Write(wire.TypeReplayed, uint32(n)) }

// answers hands the host's answers to the program. It always reads, so that
// the host can always write. The end of the input is the end of the host.
func (c *conn) answers() {
	for {
		f, err := c.r.Next()
		if err != nil {
			os.Exit(1)
		}
		switch f.Type {
		case wire.TypePause:
			c.resume = c.clock.Pause()
			continue
		case wire.TypeResume:
			c.resume() // the host alternates
			continue
		case wire.TypeVerdict:
			var v sandbox.Verdict
			if json.Unmarshal(f.Payload, &v) == nil { // the host wrote it
				c.verdict <- v
			}
			continue
		}
		c.mu.Lock()
		done := c.calls[f.ID]
		if f.Type != wire.TypeWithheld {
			delete(c.calls, f.ID)
		}
		c.mu.Unlock()
		if done == nil {
			continue
		}
		switch {
		case f.Type == wire.TypeWithheld:
			done(nil, sandbox.ErrWithheld)
		case f.Type == wire.TypeError:
			done(nil, wire.DecodeError(f.Payload))
		case len(f.Payload) == 0:
			done(nil, nil)
		default:
			done(json.RawMessage(f.Payload), nil)
		}
	}
}

// Output is gathered, because a program that prints a thousand lines should
// not cost a thousand frames, and sent as soon as the flusher gets to it.
const (
	outBytes = 32 << 10
	outDelay = time.Millisecond
)

// Output implements jsrun.Host.
func (c *conn) Output(stream int, p []byte) {
	c.outMu.Lock()
	defer c.outMu.Unlock()
	if stream != c.outStream {
		c.flushLocked()
		c.outStream = stream
	}
	c.out = append(c.out, p...)
	if len(c.out) >= outBytes {
		c.flushLocked()
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// flusher sends what was printed soon after it was printed.
func (c *conn) flusher() {
	for range c.wake {
		time.Sleep(outDelay)
		c.flush()
	}
}

func (c *conn) flush() {
	c.outMu.Lock()
	defer c.outMu.Unlock()
	c.flushLocked()
}

// flushLocked sends what was printed in frames of a size that the host
// accepts. A write fails only when the host is gone, and then answers ends the
// process.
func (c *conn) flushLocked() {
	t := wire.TypeStdout
	if c.outStream == 2 {
		t = wire.TypeStderr
	}
	for p := c.out; len(p) > 0; {
		n := min(len(p), outBytes)
		if c.w.Write(t, 0, p[:n]) != nil {
			break
		}
		p = p[n:]
	}
	c.out = c.out[:0]
	if cap(c.out) > 4*outBytes {
		c.out = nil
	}
}
