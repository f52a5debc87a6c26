package worker

import (
	"os"
	"path/filepath"
	"syscall"
)

func processAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup kills the process. It has no means to start others, so it is its
// whole group.
func killGroup(p *os.Process) { p.Kill() }

// rootDir is the directory that children run in.
func rootDir() string { return filepath.VolumeName(os.Getenv("SystemRoot")) + `\` }
