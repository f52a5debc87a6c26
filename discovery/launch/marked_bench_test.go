//go:build linux

package launch

import "testing"

// BenchmarkMarked looks for the processes of a broker that is gone, as each start does.
func BenchmarkMarked(b *testing.B) {
	for b.Loop() {
		markedProcesses(func(string) bool { return false })
	}
}
