//go:build unix

package spawn

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/pipes"
)

// family starts a shell that has started another process, and returns when both
// are there.
func family(t *testing.T, ctx context.Context) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, "sh", "-c", `sleep 60 & echo started; wait`)
	cmd.WaitDelay = time.Second
	_, out := pipes.Of(t, cmd)
	Group(cmd)
	if err := Start(cmd); err != nil {
		t.Skip("needs a shell: ", err)
	}
	t.Cleanup(func() { _ = Kill(cmd.Process) })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the shell says %q, %v", line, err)
	}
	return cmd
}

func TestGroupEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := family(t, ctx)
	if !Alive(cmd.Process) {
		t.Fatal("the group is not alive")
	}
	cancel()
	_ = cmd.Wait()
	if runtime.GOOS == "linux" { // elsewhere a zombie counts
		eventually.True(t, "the group has ended", func() bool { return !Alive(cmd.Process) })
	}
}

func TestKillingWhatIsGoneIsDone(t *testing.T) {
	cmd := exec.Command("sh", "-c", "exit 0")
	Group(cmd)
	if err := Start(cmd); err != nil {
		t.Skip("needs a shell: ", err)
	}
	_ = cmd.Wait()
	if err := Kill(cmd.Process); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Kill = %v", err)
	}
}
