//go:build unix

package upstream

import (
	"os"
	"syscall"
)

// terminateGroup asks the process and everything in its group to end.
func terminateGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGTERM) // gone already: nothing to do
}

// groupAlive reports whether anything is left in the group of p.
func groupAlive(p *os.Process) bool {
	return syscall.Kill(-p.Pid, 0) == nil && groupRuns(p.Pid)
}

// killTree ends the group of p, and what left the group but carries mark.
func killTree(p *os.Process, mark string) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	killMarked(mark)
}
