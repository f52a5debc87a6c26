package daemon

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// A process has ended when it has exited, also while its parent has not waited for it.
func TestEnded(t *testing.T) {
	if Ended(os.Getpid(), 0) {
		t.Error("this process has ended")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if pid := cmd.Process.Pid; !Ended(pid, time.Minute) {
		t.Errorf("process %d has not ended", pid)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if !Ended(cmd.Process.Pid, time.Minute) {
		t.Error("a process that was waited for has not ended")
	}
}
