package launch

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/lines"
	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

const (
	stdinGrace = time.Second            // for the server to end by itself once its stdin is closed
	termGrace  = time.Second            // after SIGTERM
	abortGrace = 500 * time.Millisecond // after SIGTERM, for a server that was never used
	drainGrace = 250 * time.Millisecond
)

// A Process is a running server.
type Process struct {
	// Stdin and Stdout are this process's ends of the server's pipes. After the server has
	// ended, Stdout is closed once it is read to its end, or a moment later.
	Stdin  io.WriteCloser
	Stdout io.ReadCloser

	cmd  *exec.Cmd
	mark string // in the environment of everything that it starts

	stderrDone chan struct{}
	exited     chan struct{} // closed when the process has been reaped
	status     string        // how it ended; set before exited is closed
	aborted    atomic.Bool
	stop       func()
}

// Start starts a server in its own process group. Its stderr goes to the ring. Stop
// must be called.
func Start(c Command, stderr *lines.Ring, g *Guard) (*Process, error) {
	path, err := c.find()
	if err != nil {
		return nil, err
	}
	p, err := start(path, c, stderr, g)
	if err != nil {
		return nil, fmt.Errorf("start command %q: %w", c.Program, err)
	}
	return p, nil
}

func start(path string, c Command, stderr *lines.Ring, g *Guard) (*Process, error) {
	p := &Process{mark: newMark(), stderrDone: make(chan struct{}), exited: make(chan struct{})}
	ours, theirs, err := openPipes()
	if err != nil {
		return nil, err
	}
	p.cmd = &exec.Cmd{
		Path: path, Args: append([]string{path}, c.Args...), Dir: c.Dir,
		Env: append(c.Env[:len(c.Env):len(c.Env)], markVariable+"="+p.mark),
	}
	spawn.Group(p.cmd)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	err = spawn.Start(p.cmd)
	closeAll(theirs[:])
	if err != nil {
		closeAll(ours[:])
		return nil, err
	}
	stdout := &output{File: ours[1], read: make(chan struct{})}
	p.Stdin, p.Stdout = ours[0], stdout
	go func() {
		defer close(p.stderrDone)
		stderr.CopyFrom(ours[2])
	}()
	go func() {
		err := p.cmd.Wait()
		p.status = p.cmd.ProcessState.String()
		if p.cmd.ProcessState == nil {
			p.status = fmt.Sprint(err)
		}
		close(p.exited)
	}()
	p.stop = sync.OnceFunc(func() { p.end(stdout, ours[2]) })
	go func() { // nothing can come from a process that ended, only from what it left behind
		g.start()
		<-p.exited
		p.stop()
	}()
	return p, nil
}

// end stops the process and everything that it started.
func (p *Process) end(stdout *output, stderr io.Closer) {
	p.Stdin.Close()
	switch {
	case p.aborted.Load():
		spawn.Terminate(p.cmd.Process)
		p.goneWithin(abortGrace)
	case !p.goneWithin(stdinGrace):
		spawn.Terminate(p.cmd.Process)
		p.goneWithin(termGrace)
	}
	_ = spawn.KillTree(p.cmd.Process) // gone already: nothing to do
	killMarked(p.mark)
	<-p.exited
	// A process that still has the other ends open has left the tree; don't wait for
	// it.
	late := time.After(drainGrace)
	for _, read := range []<-chan struct{}{p.stderrDone, stdout.read} {
		select {
		case <-read:
			continue
		case <-late:
		}
		break
	}
	stderr.Close()
	stdout.Close()
}

// An output is a pipe that notes when it is read to its end or closed.
type output struct {
	*os.File
	once sync.Once
	read chan struct{} // closed then
}

// Read reads from the pipe.
func (o *output) Read(p []byte) (int, error) {
	n, err := o.File.Read(p)
	if err != nil {
		o.once.Do(func() { close(o.read) })
	}
	return n, err
}

// Close closes the pipe.
func (o *output) Close() error {
	o.once.Do(func() { close(o.read) })
	return o.File.Close()
}

// goneWithin waits for the process and its group to end.
func (p *Process) goneWithin(d time.Duration) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	select {
	case <-p.exited:
	case <-deadline.C:
		return false
	}
	for spawn.Alive(p.cmd.Process) {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline.C:
			return false
		}
	}
	return true
}

// PID is the id of the process, also after it ended.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Mark is in the environment of the process and of everything that it started.
func (p *Process) Mark() string { return p.mark }

// Stop ends the process and everything that it started, and returns when all of
// it is gone: its stdin is closed, it gets SIGTERM after a second and SIGKILL
// after another one. Stop may be called more than once.
func (p *Process) Stop() { p.stop() }

// Ended returns how the process ended, once it has closed its pipes, an instant before
// it can be reaped. It returns false if the process continues.
func (p *Process) Ended() (status string, ended bool) {
	select {
	case <-p.exited:
	case <-time.After(drainGrace):
		return "", false
	}
	select {
	case <-p.stderrDone:
	case <-time.After(drainGrace):
	}
	return p.status, true
}

// Abort is Stop for a server that has not begun its work, such as one that has not
// answered yet: it gets SIGTERM at once, and SIGKILL after half a second.
func (p *Process) Abort() {
	p.aborted.Store(true)
	p.stop()
}

// openPipes makes stdin, stdout and stderr: the broker's ends and the server's.
func openPipes() (ours, theirs [3]*os.File, err error) {
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:i])
			closeAll(theirs[:i])
			return ours, theirs, fmt.Errorf("open pipes: %w", err)
		}
		if i == 0 {
			ours[i], theirs[i] = w, r
		} else {
			ours[i], theirs[i] = r, w
		}
	}
	return ours, theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
