//go:build unix

package spawn

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Group makes cmd, which must not have started, run in a process group of its own. When its
// context ends, the whole group is killed. On Linux the kernel kills cmd when this process dies;
// the processes that it started may continue.
func Group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	cancelTree(cmd)
}

// Session is like Group, for a program that must not find a terminal: it runs in a session of its
// own, and does not end with this process.
func Session(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cancelTree(cmd)
}

// Terminate asks p and its group to end.
func Terminate(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGTERM) // an error means that it is gone
}

// Kill kills p and its group. The number of a group is not reused while it has a process; if it
// has none, Kill returns os.ErrProcessDone.
func Kill(p *os.Process) error {
	err := syscall.Kill(-p.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// KillTree kills p and the processes that it started, as far as the system can find them: here it
// is Kill.
func KillTree(p *os.Process) error { return Kill(p) }

// Alive reports whether a process in the group of p is left.
func Alive(p *os.Process) bool {
	return syscall.Kill(-p.Pid, 0) == nil && groupRuns(p.Pid)
}
