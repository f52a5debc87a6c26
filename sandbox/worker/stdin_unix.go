//go:build unix

package worker

import (
	"os"
	"syscall"
)

// stdin is this process's input as a file that the Go runtime polls: a read that
// waits takes no thread then, and who was waiting for a frame goes on in the
// thread that got it. It must be called before the process contains itself.
func stdin() *os.File {
	if syscall.SetNonblock(0, true) != nil {
		return os.Stdin
	}
	return os.NewFile(0, "stdin")
}
