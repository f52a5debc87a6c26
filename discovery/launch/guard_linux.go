package launch

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/memory"
)

// CanGuard is whether there are guards on this system.
const CanGuard = true

const (
	// A killed process is there until the kernel has taken down its memory.
	ownerPatience = time.Minute
	ownerPoll     = 10 * time.Millisecond

	// What was forking when it was looked for is found a moment later.
	guardRounds = 20
	guardPause  = 50 * time.Millisecond
)

// startGuard starts a guard of this process: in its own session, so that it survives
// the end of the broker's, without a parent-death signal, and with only the socket
// open.
func startGuard() (*guardProcess, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "guard")
	defer theirs.Close()
	conn, err := connOf(os.NewFile(uintptr(pair[0]), "guard"))
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", // stays right when the file is replaced by a new version
		Args: []string{guardName, guardVerb, ownMark()},
		Env:  []string{"GOMAXPROCS=1"}, Dir: "/", Stdin: theirs,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		conn.Close()
		return nil, err
	}
	p := &guardProcess{cmd: cmd, conn: conn, gone: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // it is killed, as a rule
		close(p.gone)
	}()
	return p, nil
}

// connOf makes a connection of a socket, and closes the file.
func connOf(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.ErrUnsupported
	}
	return conn, nil
}

// IsGuard reports whether this process is the guard of another one. Its main
// must then call GuardMain and nothing else.
func IsGuard() bool {
	return len(os.Args) == 3 && os.Args[0] == guardName && os.Args[1] == guardVerb
}

// GuardMain waits for the end of its parent process, then kills what the servers of the
// parent have left running, and returns. It kills no processes of a living parent or of
// others.
func GuardMain() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	memory.Release()                      // memory of the program's start
	_, _ = os.Stdin.Read(make([]byte, 1)) // nothing is ever sent: it ends with the broker
	if waitForOwner(os.Args[2], ownerPatience) {
		killLeftBy(os.Args[2])
	}
}

// waitForOwner waits until owner is gone. One that still lives after patience
// has closed the socket by itself.
func waitForOwner(owner string, patience time.Duration) bool {
	for waited := time.Duration(0); !ownerGone(owner + ".0"); waited += ownerPoll {
		if waited >= patience {
			return false
		}
		time.Sleep(ownerPoll)
	}
	return true
}

// killLeftBy kills the processes that bear a mark of owner.
func killLeftBy(owner string) {
	mark := owner + "."
	quiet := 0
	for range guardRounds {
		pids := markedProcesses(func(m string) bool { return strings.HasPrefix(m, mark) })
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone already: nothing to do
		}
		quiet++
		if len(pids) > 0 {
			quiet = 0
		}
		if quiet == 3 {
			return
		}
		time.Sleep(guardPause)
	}
}
