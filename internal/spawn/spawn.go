// Package spawn starts child processes in groups of their own, which the kernel
// ends with this process, and ends them with what they have started.
//
// On Linux a child gets a parent-death signal (prctl(2), PR_SET_PDEATHSIG). Its
// "parent" is the thread that forked, not the process, and Go ends threads, so a
// child that any thread starts may be killed while its owner lives. Start has one
// thread that stays.
package spawn

import "os/exec"

// cancelTree makes the end of cmd's context, if it has one, kill its tree.
func cancelTree(cmd *exec.Cmd) {
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { return KillTree(cmd.Process) }
	}
}
