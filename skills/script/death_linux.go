package script

import "syscall"

// endWithParent has the kernel end the script if the broker is killed, which
// then cannot do so itself. What the script has started may go on.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
