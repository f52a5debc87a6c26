package launch

import (
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

func TestMain(m *testing.M) {
	if IsGuard() {
		GuardMain()
		return
	}
	fakeupstream.RunIfAsked()
	os.Exit(m.Run())
}

func TestLivingBrokerIsNotTakenForGone(t *testing.T) {
	if waitForOwner(ownMark(), 50*time.Millisecond) {
		t.Error("this process is taken for gone")
	}
}

func TestGuardRunsFromTheFirstServerOn(t *testing.T) {
	t.Parallel()
	g := NewGuard(true, slog.New(slog.DiscardHandler))
	defer g.Close()
	running := func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.proc != nil && !closed(g.proc.gone)
	}
	if running() {
		t.Error("a guard without a server")
	}
	g.start()
	first := g.proc
	g.start()
	if !running() || g.proc != first {
		t.Error("not one guard for two servers")
	}
	_ = first.cmd.Process.Kill()
	<-first.gone
	g.start()
	if !running() {
		t.Error("no guard for the next server")
	}
	g.Close()
	if running() {
		t.Error("the guard outlives its broker's connections")
	}
	g.start()
	if running() {
		t.Error("a guard is started after the end")
	}
}

// A crash of the broker kills its servers; what escapes that is found by the
// next broker.
func TestOrphansOfADeadBrokerAreKilled(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Skip("no true: ", err)
	}
	mark := spawn.PIDNamespace() + "." + strconv.Itoa(gone.Process.Pid) + ".12345.1"
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
	KillOrphans()
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
	self := spawn.PIDNamespace() + "." + strconv.Itoa(os.Getpid())
	for mark, want := range map[string]bool{
		self + "." + spawn.StartTime(os.Getpid()) + ".1": false,
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
