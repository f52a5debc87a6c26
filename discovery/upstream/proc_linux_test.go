package upstream

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// left are the processes that this test binary's pools have running.
func left(t *testing.T, mark string) []int {
	t.Helper()
	var alive []int
	for _, pid := range markedProcesses(func(m string) bool { return m == mark }) {
		if startTime(pid) != "" {
			alive = append(alive, pid)
		}
	}
	return alive
}

// markOf is the mark of the process that a server runs now.
func markOf(t *testing.T, p *Pool, name string) string {
	t.Helper()
	s := p.roster.Load().byName[name]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sess == nil || s.sess.proc == nil {
		t.Fatalf("%s has no process", name)
	}
	return s.sess.proc.mark
}

func TestNoProcessIsLeft(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode   fakeupstream.Mode
		rounds int
	}{
		{fakeupstream.Good, 20}, {fakeupstream.Grandchild, 1}, {fakeupstream.Daemon, 1}, {fakeupstream.IgnoresTerm, 1}, {fakeupstream.Hangs, 1},
	} {
		t.Run(string(tt.mode), func(t *testing.T) {
			t.Parallel()
			for range tt.rounds {
				p := NewPool([]Config{fake("s", tt.mode)}, nil)
				if st := p.Refresh(t.Context())[0]; st.State != StateReady {
					t.Fatalf("status = %+v", st)
				}
				mark := markOf(t, p, "s")
				if n := len(left(t, mark)); n == 0 {
					t.Fatal("the running server is not found by its mark")
				}
				p.Close()
				if pids := left(t, mark); len(pids) > 0 {
					t.Fatalf("processes %v are left", pids)
				}
			}
		})
	}
}

func TestCloseWhileStartingLeavesNothing(t *testing.T) {
	p := NewPool([]Config{fake("s", fakeupstream.SilentInit)}, nil)
	p.Start(t.Context())
	prefix := []byte(ownMark())
	var mark string
	for mark == "" { // until the process is there
		markedProcesses(func(m string) bool {
			if bytes.HasPrefix([]byte(m), prefix) {
				mark = m
			}
			return false
		})
	}
	p.Close()
	if pids := left(t, mark); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
}

// A crash of the broker kills its servers; what escapes that is found by the
// next broker.
func TestOrphansOfADeadBrokerAreKilled(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Skip("no true: ", err)
	}
	mark := pidNamespace() + "." + strconv.Itoa(gone.Process.Pid) + ".12345.1"
	orphan := exec.Command(fakeupstream.Command(), fakeupstream.Args(fakeupstream.IgnoresTerm)...)
	orphan.Env = []string{markVariable + "=" + mark}
	in, err := orphan.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	killOrphans()
	done := make(chan struct{})
	go func() { orphan.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		orphan.Process.Kill()
		t.Error("the orphan lives")
	}
}

func TestOwnerGone(t *testing.T) {
	self := pidNamespace() + "." + strconv.Itoa(os.Getpid())
	for mark, want := range map[string]bool{
		self + "." + startTime(os.Getpid()) + ".1": false,
		self + ".1.1": true, // an earlier process of the same id
		"garbage":     false,
		self + "..1":  false,
		"1." + strconv.Itoa(os.Getpid()) + ".1.1": false, // in another container
	} {
		if got := ownerGone(mark); got != want {
			t.Errorf("ownerGone(%q) = %v", mark, got)
		}
	}
}
