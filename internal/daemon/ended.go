package daemon

import "time"

// Ended waits until the process with the given id has ended, for at most limit, and
// reports whether it has.
func Ended(pid int, limit time.Duration) bool {
	for deadline := time.Now().Add(limit); runs(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
