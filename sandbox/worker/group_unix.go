//go:build unix

package worker

import (
	"os"
	"syscall"
)

// killGroup kills the process and its group, which is its own.
func killGroup(p *os.Process) {
	if syscall.Kill(-p.Pid, syscall.SIGKILL) != nil {
		p.Kill()
	}
}

// rootDir is the directory that children run in.
func rootDir() string { return "/" }
