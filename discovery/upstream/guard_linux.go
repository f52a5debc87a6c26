package upstream

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// canGuard is whether there are guards on this system.
const canGuard = true

const (
	// A killed process is there until the kernel has taken down its memory.
	ownerPatience = time.Minute
	ownerPoll     = 10 * time.Millisecond

	// What was forking when it was looked for is found a moment later.
	guardRounds = 20
	guardPause  = 50 * time.Millisecond
)

// startGuard starts a guard of this process: in a session of its own, so that
// what ends the broker's does not end it, without a parent-death signal, and
// with nothing open but the pipe.
func startGuard() (*guardProcess, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", // stays right when the file is replaced by a new version
		Args: []string{guardName, guardVerb, ownMark()},
		Env:  []string{"GOMAXPROCS=1"}, Dir: "/", Stdin: r,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, err
	}
	p := &guardProcess{cmd: cmd, pipe: w, gone: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // it is killed, as a rule
		close(p.gone)
	}()
	return p, nil
}

// IsGuard reports whether this process is the guard of another one, which
// Options.Guard has started. Its main must then call GuardMain and nothing else.
func IsGuard() bool {
	return len(os.Args) == 3 && os.Args[0] == guardName && os.Args[1] == guardVerb
}

// GuardMain waits for the end of the process that started this one, then kills
// what the servers of that process have left running, and returns. It kills
// nothing as long as that process lives, and nothing of any other.
func GuardMain() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	debug.FreeOSMemory() // what the start of the program has used
	waitForEnd(os.Stdin)
	killLeftBy(os.Args[2], ownerPatience)
}

// killLeftBy kills the processes that bear a mark of owner, once that is gone.
// One that still lives after patience has closed the pipe by itself.
func killLeftBy(owner string, patience time.Duration) {
	mark := owner + "."
	for waited := time.Duration(0); !ownerGone(mark + "0"); waited += ownerPoll {
		if waited >= patience {
			return
		}
		time.Sleep(ownerPoll)
	}
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

// waitForEnd returns when the other end of f is closed.
func waitForEnd(f *os.File) {
	var b [64]byte
	for {
		if _, err := f.Read(b[:]); err != nil {
			return
		}
	}
}
