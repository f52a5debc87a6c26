package launch

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"
)

// guardLinger is how long the guard outlives the last server process, so that
// it is not started anew for each of a row of short ones.
const guardLinger = 30 * time.Second

// guardName and guardVerb are the arguments of a guard; the mark of its broker
// is the third.
const (
	guardName = "broker-guard"
	guardVerb = "of"
)

// What a broker sends its guard: messages of one of these and a mark, about a
// server that a package runner starts.
const (
	guardInstalls = "installs" // with the broker's ends of its stdin, stdout and stderr
	guardStarted  = "started"  // it is installed and answers
	guardFinish   = "finish"   // it is the guard's from now on
	guardDismiss  = "dismiss"  // the broker has ended its other servers
)

// A Guard is a process that outlives a killed broker. The kernel
// kills the servers with their broker, but not what those have started: a
// grandchild that takes no notice of a closed stdin would live until the next
// broker finds it. The guard holds the other end of a socket, sees it close, and
// kills what bears the broker's mark. A server that is being installed it lets
// finish that first, also when the broker ends as it should: npx and its like
// leave a cache that stays broken when they are killed. It is this program once
// more, and runs only while there are server processes.
type Guard struct {
	on     bool
	log    *slog.Logger
	linger time.Duration

	mu     sync.Mutex
	users  int // server processes
	proc   *guardProcess
	timer  *time.Timer // ends proc
	closed bool
	heir   bool // proc has been given a server
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// A guardProcess is a running guard.
type guardProcess struct {
	cmd  *exec.Cmd
	conn *net.UnixConn // closed when this process ends
	gone chan struct{} // closed when the guard has been reaped
}

// NewGuard returns the guard of the servers of one pool; its process starts with
// the first of them. If on is false, or elsewhere than on Linux, there is none.
// The main of this program must call GuardMain, before anything else, if IsGuard.
// Close must be called after the servers have been stopped.
func NewGuard(on bool, log *slog.Logger) *Guard {
	return &Guard{on: on && CanGuard && !IsGuard(), log: log, linger: guardLinger}
}

// enter counts a server process and starts the guard before the first. It
// reports whether there is one. It takes the milliseconds of a process start, so
// nobody should wait for it who need not.
func (g *Guard) enter() bool {
	if !g.on {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users++
	if g.timer != nil {
		g.timer.Stop()
	}
	if g.closed || (g.proc != nil && !closed(g.proc.gone)) {
		return !g.closed
	}
	g.endLocked()
	p, err := startGuard()
	if err != nil {
		g.log.Warn("cannot start the guard of server processes", "err", err)
		return false
	}
	g.proc = p
	return true
}

// tell sends the guard a message.
func (g *Guard) tell(verb, mark string, files ...*os.File) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tellLocked(verb, mark, files...)
}

func (g *Guard) tellLocked(verb, mark string, files ...*os.File) error {
	if g.proc == nil || closed(g.proc.gone) {
		return errNoGuard
	}
	return g.proc.send(verb+" "+mark, files)
}

var errNoGuard = errors.New("there is no guard of server processes")

// adopt leaves p to the guard, which lets it finish its installation and then
// ends it. An error means that it did not.
func (g *Guard) adopt(p *Process) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.tellLocked(guardFinish, p.mark)
	g.heir = g.heir || err == nil
	return err
}

// leave counts a server process that is gone with all that it started.
func (g *Guard) leave() {
	if !g.on {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users--
	if g.users > 0 || g.closed {
		return
	}
	if g.timer != nil {
		g.timer.Stop()
	}
	g.timer = time.AfterFunc(g.linger, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.users == 0 {
			g.endLocked()
		}
	})
}

// Close ends the guard for good. It returns when the process is gone, or left
// alone with what it has to finish.
func (g *Guard) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.timer != nil {
		g.timer.Stop()
	}
	g.endLocked()
}

// endLocked ends the process, if there is one, with a signal that leaves it no
// time to do its work; g.mu is held.
func (g *Guard) endLocked() {
	p := g.proc
	if p == nil {
		return
	}
	g.proc = nil
	if g.heir {
		g.heir = false
		_ = p.send(guardDismiss, nil) // gone already: nothing to do
		p.conn.Close()
		return
	}
	_ = p.cmd.Process.Kill() // gone already: nothing to do
	<-p.gone
	p.conn.Close()
}
