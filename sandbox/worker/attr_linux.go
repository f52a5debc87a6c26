package worker

import "syscall"

// processAttr gives the child a process group of its own, and has the kernel
// kill it when its host dies.
func processAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
