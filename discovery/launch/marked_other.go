//go:build !linux

package launch

import "os/exec"

// leaveToGuard does nothing: there are no guards here.
func leaveToGuard(*exec.Cmd, bool) {}

// killMarked does nothing: environments of other processes cannot be read
// everywhere, so the process group has to do.
func killMarked(string) {}

// KillOrphans does nothing: see killMarked.
func KillOrphans() {}

// Marked returns none: see killMarked.
func Marked(string) []int { return nil }

// Finishing is false: there are no guards here.
func Finishing(Command) bool { return false }

// npxRuns is false: what an npx has started cannot be told.
func npxRuns(string) bool { return false }
