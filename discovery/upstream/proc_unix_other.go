//go:build unix && !linux

package upstream

import (
	"syscall"
)

// processAttributes put a server into a group of its own.
func processAttributes(_, _ bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// groupRuns has no cheap way to tell a zombie from a process here.
func groupRuns(int) bool { return true }

// killMarked does nothing: environments of other processes cannot be read
// everywhere, so the process group has to do.
func killMarked(string) {}

func killOrphans() {}

// finishing is false: there are no guards here.
func finishing(string) bool { return false }

// npxRuns is false: what an npx has started cannot be told.
func npxRuns(string) bool { return false }

func startTime(int) string { return "" }

func pidNamespace() string { return "" }
