//go:build !linux

package spawn

import (
	"os/exec"
	"syscall"
	"time"
)

// Start is cmd.Start: only Linux ends children with a thread of their parent.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// StartIdle is cmd.Start: only Linux has timers that may be late.
func StartIdle(cmd *exec.Cmd, _ time.Duration) error { return cmd.Start() }

// endWithParent does nothing: only Linux ends a process with its parent.
func endWithParent(*syscall.SysProcAttr) {}

// StartTime is "": the start of another process is only known on Linux.
func StartTime(int) string { return "" }

// PIDNamespace is "": only Linux has namespaces of process ids.
func PIDNamespace() string { return "" }

// groupRuns has no cheap way to tell a zombie from a process here.
func groupRuns(int) bool { return true }
