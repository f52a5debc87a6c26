package spawn

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/pipes"
)

// The goroutine that asks for the child takes its thread with it when it ends.
func TestChildOutlivesTheThreadThatAskedForIt(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, out := pipes.Of(t, cmd)
	var err error
	started := make(chan struct{})
	var thread int
	var start func()
	start = func() {
		runtime.LockOSThread() // without its unlocking, the thread ends here
		if thread = syscall.Gettid(); thread == os.Getpid() {
			defer runtime.UnlockOSThread() // the first one never ends: it is held while another one has its turn
			go start()
			<-started
			return
		}
		err = Start(cmd)
		close(started)
	}
	go start()
	if <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	deadline := time.Now().Add(10 * time.Second)
	for {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread)); errors.Is(err, os.ErrNotExist) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the thread does not end")
		}
		runtime.Gosched()
	}
	if _, err := fmt.Fprintln(in, "still here"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "still here\n" {
		t.Errorf("the child says %q, %v", line, err)
	}
}

func TestWhatCannotStartIsAnError(t *testing.T) {
	if err := Start(exec.Command("/does/not/exist")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start = %v", err)
	}
}
