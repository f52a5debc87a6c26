package upstream

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// left are the processes that this test binary's pools have running.
func left(t *testing.T, mark string) []int {
	t.Helper()
	var alive []int
	for _, pid := range launch.Marked(mark) {
		if spawn.StartTime(pid) != "" {
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
	if s.sess == nil || s.sess.Process == nil {
		t.Fatalf("%s has no process", name)
	}
	return s.sess.Process.Mark()
}

func TestNoProcessIsLeft(t *testing.T) {
	t.Parallel()
	for _, mode := range []fakeupstream.Mode{fakeupstream.Good, fakeupstream.Grandchild, fakeupstream.Daemon, fakeupstream.IgnoresTerm, fakeupstream.Hangs} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			p := NewPool([]Config{fake("s", mode)}, nil)
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
		})
	}
}

// shellServer is a server that starts in a millisecond, which the test binary
// with the race detector does not.
const shellServer = `while read -r line; do
	id=${line#*\"id\":}; id=${id%%[,\}]*}
	case $line in
	*\"initialize\"*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
	*\"tools/list\"*) result='{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
	*\"tools/call\"*) result='{"content":[{"type":"text","text":"hello"}]}' ;;
	*\"server/discover\"*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}'; continue ;;
	*) continue ;;
	esac
	echo '{"jsonrpc":"2.0","id":'$id',"result":'$result'}'
done`

// A hundred servers that are started, called and stopped, their guard beside
// them, leave no process, no zombie and no open file behind. It must not run
// beside other tests, which have files open.
func TestHundredRoundsLeaveNothing(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell that starts in a millisecond")
	}
	const perRound = 10
	var configs []Config
	for i := range perRound {
		configs = append(configs, Config{Name: strconv.Itoa(i), Command: "sh", Args: []string{"-c", shellServer}, StartTimeout: time.Minute})
	}
	round := func() {
		p := NewPool(configs, &Options{Guard: true})
		for _, st := range p.Refresh(t.Context()) {
			if st.State != StateReady {
				t.Fatalf("status = %+v", st)
			}
			if _, err := p.Call(t.Context(), st.Name, "echo", nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		p.Close()
	}
	round() // whatever is opened once is open now
	files := openFiles(t)
	for range 100 / perRound {
		round()
	}
	if pids := launch.Marked(ownMark()); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
	if pids := children(); len(pids) > 0 {
		t.Errorf("children %v are left, running or as zombies", pids)
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d files are open, %d more than after the first round", n, n-files)
	}
}

// openFiles is the number of this process's open files.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// children are the processes that this one has started and that are there, if
// only because nobody has waited for them.
func children() []string {
	var pids []string
	paths, _ := filepath.Glob("/proc/self/task/*/children")
	for _, path := range paths {
		list, _ := os.ReadFile(path) // the thread may be gone
		pids = append(pids, strings.Fields(string(list))...)
	}
	return pids
}

func TestCloseWhileStartingLeavesNothing(t *testing.T) {
	p := NewPool([]Config{fake("s", fakeupstream.SilentInit)}, nil)
	p.Start(t.Context())
	eventually.True(t, "the process is there", func() bool { return len(launch.Marked(ownMark())) > 0 })
	p.Close()
	if pids := left(t, ownMark()); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
}
