package spawn

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/pipes"
	"github.com/mcpbroker/mcpbroker/internal/spawn/spawntest"
)

// The goroutine that asks for the child takes its thread with it when it ends.
func TestChildOutlivesTheThreadThatAskedForIt(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, out := pipes.Of(t, cmd)
	var err error
	spawntest.OnThreadThatEnds(t, func() { err = Start(cmd) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
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
