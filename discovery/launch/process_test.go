package launch

import (
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/lines"
	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// What a process writes last can be read after its end, with and without a line break.
func TestLastOutputIsRead(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs a shell: ", err)
	}
	for _, script := range []string{"echo last", "printf last", "echo last; exit 2", "echo last; exec 2>&-"} {
		p, err := Start(Command{Program: sh, Args: []string{"-c", script}}, lines.NewRing(), &Guard{})
		if err != nil {
			t.Fatal(err)
		}
		if _, ended := p.Ended(); !ended {
			t.Errorf("%s: it has not ended", script)
		}
		stopped := make(chan struct{})
		go func() { defer close(stopped); p.Stop() }()
		select { // a reader that is late
		case <-stopped:
		case <-time.After(drainGrace / 4):
		}
		if got, err := io.ReadAll(p.Stdout); err != nil || !strings.HasPrefix(string(got), "last") {
			t.Errorf("%s: read %q, %v", script, got, err)
		}
		<-stopped
	}
}

// A server that was never used is ended at once, whatever it does about signals and its
// stdin, with what it started.
func TestAbort(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs a shell: ", err)
	}
	for name, script := range map[string]string{
		"waits":           "exec sleep 600",
		"ignores SIGTERM": "trap '' TERM; echo up; while :; do sleep 600; done",
		"has a child":     "sleep 600 & echo up; wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Start(Command{Program: sh, Args: []string{"-c", script}}, lines.NewRing(), &Guard{})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(script, "echo up") {
				if _, err := p.Stdout.Read(make([]byte, 8)); err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			p.Abort()
			if took := time.Since(began); took >= stdinGrace+abortGrace {
				t.Errorf("it took %s", took)
			}
			if spawn.Alive(p.cmd.Process) {
				t.Error("it is alive")
			}
		})
	}
}
