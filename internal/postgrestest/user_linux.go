package postgrestest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// quit ends a server immediately, like a crash.
const quit = syscall.SIGQUIT

// nobody runs the server if root runs the tests, since PostgreSQL refuses root.
const nobody = 65534

func giveToServer(dir string) error {
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

// pause stops a process, so that it starts no others, and then its children.
func pause(pid int) (goOn func() error, err error) {
	all := []int{pid}
	signal := func(s syscall.Signal) (err error) {
		for _, pid := range all {
			err = errors.Join(err, syscall.Kill(pid, s))
		}
		return err
	}
	goOn = func() error { return signal(syscall.SIGCONT) }
	if err := signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for child := range strings.FieldsSeq(string(children)) {
		n, _ := strconv.Atoi(child) // 0 would be this process and its group
		if n > 0 {
			all = append(all, n)
		}
	}
	return goOn, errors.Join(err, signal(syscall.SIGSTOP))
}
