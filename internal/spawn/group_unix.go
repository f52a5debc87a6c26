//go:build unix

package spawn

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Group makes cmd, which Start is about to start, run in a process group of its
// own. If it has a context, the end of that kills the whole group. On Linux the
// kernel kills it when this process dies; what it has started may go on then.
func Group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	cancelTree(cmd)
}

// Session is Group for a program that must find no terminal to ask at: it runs
// in a session of its own, and does not end with this process.
func Session(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cancelTree(cmd)
}

// Terminate asks p and everything in its group to end.
func Terminate(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGTERM) // gone already: nothing to do
}

// Kill kills p and everything in its group. The number of a group is not given
// to another one while a process of it is left; when none is, the error is
// os.ErrProcessDone.
func Kill(p *os.Process) error {
	err := syscall.Kill(-p.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// KillTree kills p and what it has started, as far as the system can find that:
// here it is Kill.
func KillTree(p *os.Process) error { return Kill(p) }

// Alive reports whether anything is left in the group of p.
func Alive(p *os.Process) bool {
	return syscall.Kill(-p.Pid, 0) == nil && groupRuns(p.Pid)
}
