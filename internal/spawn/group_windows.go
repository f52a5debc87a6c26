package spawn

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// Group keeps cmd, which Start is about to start, from getting the console's
// Ctrl-C and from opening a window. If it has a context, the end of that kills it
// with what it has started.
func Group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	cancelTree(cmd)
}

// Session is Group: Windows has no sessions in that sense.
func Session(cmd *exec.Cmd) { Group(cmd) }

// Terminate does nothing: Windows has no signal that asks a process without a
// window to end.
func Terminate(*os.Process) {}

// Kill kills p alone.
func Kill(p *os.Process) error { return p.Kill() }

// KillTree kills p and its descendants.
func KillTree(p *os.Process) error {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run() // gone already: nothing to do
	return p.Kill()
}

// Alive is false: what outlives its parent cannot be found any more.
func Alive(*os.Process) bool { return false }
