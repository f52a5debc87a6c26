//go:build !linux

package upstream

import "os/exec"

// leaveToGuard does nothing: there are no guards here.
func leaveToGuard(*exec.Cmd, bool) {}

// killMarked does nothing: environments of other processes cannot be read
// everywhere, so the process group has to do.
func killMarked(string) {}

func killOrphans() {}

// finishing is false: there are no guards here.
func finishing(string) bool { return false }

// npxRuns is false: what an npx has started cannot be told.
func npxRuns(string) bool { return false }
