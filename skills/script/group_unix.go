//go:build unix

package script

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts the script into a process group of its own, which is killed
// with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
			return err
		}
		return os.ErrProcessDone
	}
}

// killGroup kills what the script has left in its group. The number of a group
// is not given to another one while a process of it is left; when none is, the
// group is gone.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

func executable(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }
