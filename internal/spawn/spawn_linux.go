package spawn

import (
	"os/exec"
	"runtime"
	"sync"
)

// thread is where all children are started. It is held by a goroutine that
// never returns.
var thread = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// Start is cmd.Start on a thread that lives as long as this process. It is safe
// for concurrent use.
func Start(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	thread() <- func() { done <- cmd.Start() }
	return <-done
}
