package sqlite

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// processStart returns when a process started, and whether there is such a
// process.
func processStart(pid int) (start string, exists bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return "", false
	}
	const zombie = 5
	t := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", t.Sec, t.Usec), info.Proc.P_stat != zombie
}

func bootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}

func pidSpace() string { return "" }
