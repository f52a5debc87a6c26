package worker

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/spawn"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// startTimeout is how long a process may take until it is ready. It takes
// milliseconds; the rest is for machines that are very busy.
const startTimeout = 30 * time.Second

// drainTime is how long a killed process's pipes are still read. They end with
// it, unless something else has got hold of them.
const drainTime = 2 * time.Second

// timerSlack is how late a timer of a child may be. At the kernel's default of 0.05 ms
// the Go runtime's own are a tenth of what a small program costs.
const timerSlack = 400 * time.Microsecond

// A process is a child, seen from its host.
type process struct {
	cmd     *exec.Cmd
	in, out *os.File
	w       *wire.Writer
	r       *wire.Reader
	crash   *crashText
	layers  []sandbox.Layer // what contains it, as it says itself before it has the program
	once    sync.Once
	state   *os.ProcessState // set by end
}

// startProcess starts a child, says hello, and waits until it is ready. It gives
// up when ctx is done.
func startProcess(ctx context.Context, opts *Options, hello wire.Hello) (*process, error) {
	p, err := launch(opts)
	if err != nil {
		return nil, fmt.Errorf("start sandbox process: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", host.Seconds(startTimeout)))
	defer cancel()
	stop := context.AfterFunc(ctx, p.kill)
	p.layers, err = host.Greet(p.r, p.w, hello)
	if !stop() && err == nil {
		err = context.Cause(ctx) // killed just now
	}
	if err == nil {
		if err = sandbox.RequireLayers(p.layers, opts.Require); err == nil {
			return p, nil
		}
		p.end()
		return nil, err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	p.end()
	hint := "its main must call worker.Main first if worker.IsChild"
	if said := host.CrashReason(p.crash.text()); said != "" {
		hint = "it said: " + said
	}
	return nil, fmt.Errorf("start sandbox process %s: %w (%s)", p.cmd.Path, err, hint)
}

// launch starts the child's program.
func launch(opts *Options) (*process, error) {
	path := cmp.Or(opts.Executable, Executable())
	var err error
	var files [6]*os.File // read and write ends of the child's 0, 1 and 2
	for i := 0; i < len(files); i += 2 {
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			closeAll(files[:])
			return nil, err
		}
	}
	cmd := exec.Command(path)
	cmd.Args = append([]string{argv0, argv1}, opts.Args...)
	cmd.Env = startEnv
	cmd.Dir = rootDir()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	spawn.Group(cmd)
	if err := spawn.StartIdle(cmd, timerSlack); err != nil {
		closeAll(files[:])
		return nil, err
	}
	closeAll([]*os.File{files[0], files[3], files[5]})
	p := &process{cmd: cmd, in: files[1], out: files[2], crash: newCrashText(files[4])}
	p.w = wire.NewWriter(p.in)
	p.r = wire.NewReader(p.out, wire.Slack)
	return p, nil
}

// rootDir returns the directory that children run in: the root, on Windows that of the
// system drive.
func rootDir() string {
	return filepath.VolumeName(os.Getenv("SystemRoot")) + string(filepath.Separator)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// kill ends the process and all that it has started. It may be called at any
// time and from anywhere: only the first call, which comes before the process
// is waited for, does anything.
func (p *process) kill() {
	p.once.Do(func() {
		if spawn.Kill(p.cmd.Process) != nil {
			_ = p.cmd.Process.Kill() // gone already: nothing to do
		}
		p.out.SetReadDeadline(time.Now().Add(drainTime))
		p.crash.r.SetReadDeadline(time.Now().Add(drainTime))
	})
}

// end kills the process, waits until it is gone, and frees what belonged to
// it. It must be called once, and nothing may read from p afterwards; writes
// fail.
func (p *process) end() {
	p.kill()
	p.cmd.Wait() // how it ended is in its state
	p.state = p.cmd.ProcessState
	closeAll([]*os.File{p.in, p.out})
	<-p.crash.done
}

// alive says whether the process was still there just now.
func (p *process) alive() bool {
	select {
	case <-p.crash.done:
		return false
	default:
		return true
	}
}

// crashText reads what a process writes to its stderr, which is nothing
// unless the Go runtime gives up.
type crashText struct {
	r    *os.File
	done chan struct{} // closed at the end of the text
	buf  bytes.Buffer  // read after done
}

func newCrashText(r *os.File) *crashText {
	c := &crashText{r: r, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer r.Close()
		io.Copy(&c.buf, io.LimitReader(r, host.CrashBytes))
		io.Copy(io.Discard, r) // so that the writer is not held up
	}()
	return c
}

func (c *crashText) text() string { return c.buf.String() }
