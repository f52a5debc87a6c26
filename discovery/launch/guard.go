package launch

import (
	"log/slog"
	"net"
	"os/exec"
	"sync"
)

// guardName and guardVerb are the arguments of a guard; the mark of its broker
// is the third.
const (
	guardName = "broker-guard"
	guardVerb = "of"
)

// A Guard is a process that outlives a killed broker. The kernel kills the servers with
// their broker, but not their children: a grandchild that ignores a closed stdin would
// live until the next broker finds it. The guard sees its socket to the broker close,
// and kills the processes with the broker's mark. It is another process of this
// program, and runs from the first server process on.
type Guard struct {
	on  bool
	log *slog.Logger

	mu     sync.Mutex
	proc   *guardProcess
	closed bool
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

// NewGuard returns the guard of the servers of one pool; its process starts with the
// first of them. It returns nil if on is false, and outside Linux. The main function
// must call GuardMain first if IsGuard. Call Close after the servers have been stopped.
func NewGuard(on bool, log *slog.Logger) *Guard {
	return &Guard{on: on && CanGuard && !IsGuard(), log: log}
}

// start starts the guard for a server process, unless it runs. It takes as many
// milliseconds as a process start, so avoid waiting for it.
func (g *Guard) start() {
	if !g.on {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || (g.proc != nil && !closed(g.proc.gone)) {
		return
	}
	g.endLocked()
	p, err := startGuard()
	if err != nil {
		g.log.Warn("cannot start the guard of server processes", "err", err)
		return
	}
	g.proc = p
}

// Close ends the guard for good. It returns when the process is gone.
func (g *Guard) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
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
	_ = p.cmd.Process.Kill() // gone already: nothing to do
	<-p.gone
	p.conn.Close()
}
