//go:build !linux

package spawn

import (
	"os/exec"
	"syscall"
	"time"
)

// Start is cmd.Start: only Linux ends children with the thread of their parent.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// StartIdle is cmd.Start: only Linux can delay timers.
func StartIdle(cmd *exec.Cmd, _ time.Duration) error { return cmd.Start() }

// endWithParent does nothing: only Linux ends a process with its parent.
func endWithParent(*syscall.SysProcAttr) {}

// StartTime returns "": only Linux reports the start of another process.
func StartTime(int) string { return "" }

// PIDNamespace returns "": only Linux has namespaces of process ids.
func PIDNamespace() string { return "" }

// groupRuns returns true: there is no cheap way to recognize zombies here.
func groupRuns(int) bool { return true }
