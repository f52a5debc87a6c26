package spawn

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// Group prevents cmd, which must not have started, from receiving the console's Ctrl-C and from
// opening a window. When its context ends, it is killed with the processes that it started.
func Group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	cancelTree(cmd)
}

// Session is Group: Windows has no such sessions.
func Session(cmd *exec.Cmd) { Group(cmd) }

// Terminate does nothing: Windows has no signal that asks a process without a window to end.
func Terminate(*os.Process) {}

// Kill kills p alone.
func Kill(p *os.Process) error { return p.Kill() }

// KillTree kills p and its descendants.
func KillTree(p *os.Process) error {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run() // an error means that it is gone
	return p.Kill()
}

// Alive returns false: processes that outlive their parent cannot be found.
func Alive(*os.Process) bool { return false }
