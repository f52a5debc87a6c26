//go:build !linux && !darwin && !windows

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// processStart reports whether there is such a process; when it started is not
// known here.
func processStart(pid int) (start string, exists bool) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return "", false
	}
	err = p.Signal(syscall.Signal(0))
	return "", err == nil || errors.Is(err, os.ErrPermission)
}

func bootID() string { return "" }

func pidSpace() string { return "" }
