package spawn

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

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

func TestTimersOfOneChildMayBeLate(t *testing.T) {
	for _, c := range []struct {
		start func(*exec.Cmd) error
		want  string
	}{
		{func(cmd *exec.Cmd) error { return StartIdle(cmd, 400*time.Microsecond) }, "400000\n"},
		{Start, "50000\n"}, // the kernel's default
	} {
		var out strings.Builder
		cmd := exec.CommandContext(t.Context(), "cat", "/proc/self/timerslack_ns")
		cmd.Stdout = &out
		if err := c.start(cmd); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil || out.String() != c.want {
			t.Errorf("slack %q, %v; want %q", out.String(), err, c.want)
		}
	}
}

func TestWhatCannotStartIsAnError(t *testing.T) {
	if err := Start(exec.Command("/does/not/exist")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start = %v", err)
	}
}
