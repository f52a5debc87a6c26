package upstream

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

const (
	stdinGrace = time.Second // for the server to end by itself once its stdin is closed
	termGrace  = time.Second // after SIGTERM
	drainGrace = 250 * time.Millisecond
)

// A process is a running server. Its whole tree is gone once stop returned.
type process struct {
	cmd    *exec.Cmd
	mark   string // in the environment of everything that it starts
	guard  *processGuard
	silent atomic.Bool // it may install, and has not answered anything yet
	stdin  *os.File
	stdout *os.File

	stderrDone chan struct{}
	exited     chan struct{} // closed when the process has been reaped
	status     string        // how it ended; set before exited is closed
	stop       func()
}

// startProcess starts a server in a process group of its own, with env and
// nothing else as its environment. Its stderr goes to the ring. installs says
// that it may have to be installed first.
func startProcess(path string, args, env []string, dir string, stderr *ring, g *processGuard, installs bool) (*process, error) {
	p := &process{mark: newMark(), guard: g, stderrDone: make(chan struct{}), exited: make(chan struct{})}
	p.silent.Store(installs)
	ours, theirs, err := openPipes()
	if err != nil {
		return nil, err
	}
	guarded := false
	if installs { // the guard has to know before the installation begins
		guarded = g.enter() && g.tell(guardInstalls, p.mark, ours[:]...) == nil
	}
	p.cmd = &exec.Cmd{
		Path: path, Args: append([]string{path}, args...), Dir: dir,
		Env: append(env[:len(env):len(env)], markVariable+"="+p.mark),
	}
	spawn.Group(p.cmd)
	if installs {
		leaveToGuard(p.cmd, guarded)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	err = spawn.Start(p.cmd)
	closeAll(theirs[:])
	if err != nil {
		closeAll(ours[:])
		if installs {
			p.answered()
			g.leave()
		}
		return nil, err
	}
	p.stdin, p.stdout = ours[0], ours[1]
	go func() {
		defer close(p.stderrDone)
		stderr.copyFrom(ours[2])
	}()
	go func() {
		err := p.cmd.Wait()
		p.status = p.cmd.ProcessState.String()
		if p.cmd.ProcessState == nil {
			p.status = fmt.Sprint(err)
		}
		close(p.exited)
	}()
	p.stop = sync.OnceFunc(func() { p.end(ours[2]) })
	go func() { // nothing can come from a process that ended, only from what it left behind
		if !installs {
			g.enter()
		}
		<-p.exited
		p.stop()
		g.leave()
	}()
	return p, nil
}

// answered notes that the server answers, so that nothing is being installed.
func (p *process) answered() {
	if p.silent.Swap(false) {
		_ = p.guard.tell(guardStarted, p.mark) // else it looks by itself
	}
}

// installing reports whether the process may still be installing the server.
func (p *process) installing() bool {
	return p.silent.Load() && !closed(p.exited) && !npxRuns(p.mark)
}

// end stops the process and everything that it started. One that is installing
// is not killed, which would leave half an installation behind for good: the
// guard lets it finish, or it is asked to end and given the time to clean up.
func (p *process) end(stderr io.Closer) {
	p.stdin.Close()
	if p.installing() {
		if p.guard.adopt(p) == nil {
			stderr.Close()
			p.stdout.Close()
			return
		}
		spawn.Terminate(p.cmd.Process)
	}
	p.answered() // as far as it ever will, and the guard lets go of its stdin
	if !p.goneWithin(stdinGrace) {
		spawn.Terminate(p.cmd.Process)
		p.goneWithin(termGrace)
	}
	_ = spawn.KillTree(p.cmd.Process) // gone already: nothing to do
	killMarked(p.mark)
	<-p.exited
	// Whoever still holds the other ends has left the tree; don't wait for it.
	select {
	case <-p.stderrDone:
	case <-time.After(drainGrace):
	}
	stderr.Close()
	p.stdout.Close()
}

// goneWithin waits for the process and its group to end.
func (p *process) goneWithin(d time.Duration) bool {
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

// pid is the id of the process, also after it ended.
func (p *process) pid() int { return p.cmd.Process.Pid }

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

// startHint says what to do about a command that does not start.
func startHint(command string, err error) string {
	if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, os.ErrNotExist) {
		return fmt.Sprintf("check that %s may be executed", command)
	}
	switch command {
	case "npx", "npm", "node":
		return `install Node.js 20 or later, or give the full path of ` + command + ` as "command" (a broker started from a desktop may have a shorter PATH than your shell)`
	case "uvx", "uv":
		return `install uv (https://docs.astral.sh/uv), or give the full path of ` + command + ` as "command"`
	case "docker", "podman":
		return "install " + command + ` and start it, or give its full path as "command"`
	}
	return fmt.Sprintf(`install %s, or give its full path as "command"`, command)
}
