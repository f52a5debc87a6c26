package script_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/skillcases"
	"github.com/mcpbroker/mcpbroker/skills/script"
)

// runnerDir is the variable that makes the test binary run a script in a skill's
// folder, and nothing else.
const runnerDir = "SCRIPT_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(runnerDir); dir != "" {
		script.Run(context.Background(), script.Request{Dir: dir, Script: "scripts/wait.sh"})
		return
	}
	os.Exit(m.Run())
}

// A broker that is killed ends no script itself.
func TestAScriptEndsWithItsBroker(t *testing.T) {
	dir := t.TempDir()
	skillcases.Write(t, dir, []skillcases.Entry{{Path: "scripts/wait.sh", Text: "#!/bin/sh\necho $$ >\"$SKILL_DIR/pid.tmp\" && mv \"$SKILL_DIR/pid.tmp\" \"$SKILL_DIR/pid\"\nwhile :; do sleep 60; done\n", Mode: "0755"}})
	broker := exec.CommandContext(t.Context(), os.Args[0])
	broker.Env = append(os.Environ(), runnerDir+"="+dir)
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Process.Kill() })
	var pid string
	eventually.True(t, "the script starts", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "pid"))
		pid = strings.TrimSpace(string(text))
		return err == nil
	})
	t.Cleanup(func() {
		if n, err := strconv.Atoi(pid); err == nil && t.Failed() {
			_ = syscall.Kill(-n, syscall.SIGKILL)
		}
	})
	if err := broker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = broker.Wait()
	eventually.True(t, "the script has ended", func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		return err != nil || strings.Contains(string(stat), ") Z ") || strings.Contains(string(stat), ") X ")
	})
}
