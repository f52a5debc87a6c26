package spawntest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// OnThreadThatEnds calls f in a goroutine whose thread ends with it, and returns when the thread
// has ended. The kernel ends the children that such a thread has started with Pdeathsig (prctl(2),
// PR_SET_PDEATHSIG).
func OnThreadThatEnds(t testing.TB, f func()) {
	t.Helper()
	done := make(chan struct{})
	var thread int
	var run func()
	run = func() {
		runtime.LockOSThread() // without an unlock, the thread ends with the goroutine
		if thread = syscall.Gettid(); thread == os.Getpid() {
			defer runtime.UnlockOSThread() // the first thread never ends: keep it busy while another one runs
			go run()
			<-done
			return
		}
		f()
		close(done)
	}
	go run()
	<-done
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread)); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the thread does not end")
		}
	}
}
