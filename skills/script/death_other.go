//go:build unix && !linux

package script

import "syscall"

// endWithParent does nothing: only Linux ends a process with its parent.
func endWithParent(*syscall.SysProcAttr) {}
