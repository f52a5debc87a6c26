package upstream

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/internal/pipes"
	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// A guarded broker, as the test sees it.
type guarded struct {
	cmd  *exec.Cmd
	in   io.Closer
	mark string
}

func startGuarded(t *testing.T) *guarded {
	t.Helper()
	cmd := exec.Command(fakeupstream.Command(), guardedArg)
	cmd.Stderr = os.Stderr
	in, out := pipes.Of(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	mark, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	g := &guarded{cmd, in, strings.TrimSpace(mark)}
	eventually.True(t, "the guard runs", func() bool { return len(guardsOf(g.cmd.Process.Pid)) == 1 })
	if n := len(left(t, g.mark)); n != 2 {
		t.Fatalf("the server and its child are %d processes", n)
	}
	return g
}

// guardsOf are the guards of the process pid.
func guardsOf(pid int) []int {
	var pids []int
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		line, _ := os.ReadFile(path) // it may be gone
		args := strings.Split(string(line), "\x00")
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && len(args) > 2 && args[0] == "broker-guard" && strings.Contains(args[2], "."+strconv.Itoa(pid)+".") && spawn.StartTime(id) != "" {
			pids = append(pids, id)
		}
	}
	return pids
}

// ignores reports whether a process ignores a signal.
func ignores(pid int, s syscall.Signal) bool {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status") // it may be gone
	_, rest, _ := strings.Cut(string(status), "\nSigIgn:")
	line, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return err == nil && mask&(1<<(s-1)) != 0
}

// A broker that is killed takes everything with it, also a grandchild that
// ignores signals and the end of its stdin, and nothing of the broker beside it.
func TestKilledBrokerLeavesNothing(t *testing.T) {
	t.Parallel()
	killed, other := startGuarded(t), startGuarded(t)
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.cmd.Wait()
	eventually.True(t, "what the killed broker left is gone", func() bool { return len(left(t, killed.mark)) == 0 })
	eventually.True(t, "its guard is gone", func() bool { return len(guardsOf(killed.cmd.Process.Pid)) == 0 })
	if n := len(left(t, other.mark)); n != 2 {
		t.Errorf("the other broker has %d processes left, want 2", n)
	}
	_ = other.in.Close()
	if err := other.cmd.Wait(); err != nil {
		t.Errorf("the other broker: %v", err)
	}
	if pids := append(left(t, other.mark), guardsOf(other.cmd.Process.Pid)...); len(pids) > 0 {
		t.Errorf("processes %v are left of a broker that ended", pids)
	}
}

// A guard does not end with a signal that is meant for its broker, and kills
// nothing as long as that lives.
func TestGuardSparesTheLiving(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	guards := guardsOf(g.cmd.Process.Pid)
	eventually.True(t, "the guard ignores SIGTERM", func() bool { return ignores(guards[0], syscall.SIGTERM) })
	if err := syscall.Kill(guards[0], syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if n := len(left(t, g.mark)); n != 2 {
		t.Errorf("%d of 2 processes are left", n)
	}
	if n := len(guardsOf(g.cmd.Process.Pid)); n != 1 {
		t.Errorf("%d guards after SIGTERM, want the one", n)
	}
}
