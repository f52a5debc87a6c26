package postgrestest

import (
	"os"
	"os/exec"
	"syscall"
)

// quit makes a server end at once, as after a crash.
const quit = syscall.SIGQUIT

// nobody runs the server where tests are run by root, which it refuses.
const nobody = 65534

func own(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(dir, nobody, nobody)
}

func asUser(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: quit}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
}
