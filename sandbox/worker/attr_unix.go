//go:build unix && !linux

package worker

import "syscall"

// processAttr gives the child a process group of its own. When its host dies
// it sees the end of its input, and ends.
func processAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
