package launch

import (
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/lines"
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
