package worker

import "syscall"

// processAttr gives the child a process group of its own, and has the kernel
// kill it when its host dies: the thread that has started it, which is that of
// package spawn.
func processAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
