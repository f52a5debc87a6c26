package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// What a command lists is kept for the broker. Some servers list more to those
// who can be asked something, so every command promises what the broker does.
func TestCommandsPromiseWhatTheBrokerDoes(t *testing.T) {
	for _, args := range []string{"skills list", "servers test s", "index"} {
		dir := t.TempDir()
		config, said := filepath.Join(dir, "servers.json"), filepath.Join(dir, "said")
		text := fmt.Sprintf(`{"mcpServers": {"s": {"command": "sh", "args": ["-c", "tee -a '%s' | \"$0\" \"$@\"", %q, %q, %q]}}, "broker": {"skills": {"scan": false}}}`,
			said, fakeupstream.Command(), fakeupstream.Args(fakeupstream.Good)[0], fakeupstream.Good)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if stderr, code := ran(t, append(strings.Fields(args), "--config", config, "--state-dir", dir)...); code != cli.ExitOK {
			t.Fatalf("broker %s: code %d, %s", args, code, stderr)
		}
		heard, err := os.ReadFile(said)
		if err != nil {
			t.Fatal(err)
		}
		if p := surface.Promises(); !p.Form || !p.Sampling {
			t.Fatalf("promised: %+v", p)
		}
		for _, want := range []string{`"elicitation":{`, `"sampling":{`} {
			if !strings.Contains(string(heard), want) {
				t.Errorf("broker %s: no %s in %s", args, want, heard)
			}
		}
	}
}

// An index that is interrupted has not listed every server, and says so.
func TestInterruptedIndexFails(t *testing.T) {
	dir := t.TempDir()
	config, started := filepath.Join(dir, "servers.json"), filepath.Join(dir, "started")
	text := fmt.Sprintf(`{"mcpServers": {"slow": {"command": "sh", "args": ["-c", "touch '%s'; while read x; do :; done"]}}}`, started)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := brokerCommand(t, "index", "--config", config, "--state-dir", dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the server is started", func() bool {
		_, err := os.Stat(started)
		return err == nil
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitFailed || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("code %d, stderr %q", code, stderr.String())
	}
}
