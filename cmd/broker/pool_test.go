package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// What a command lists is kept for the broker. Some servers list more to those
// who can be asked something, so every command promises what the broker does.
func TestCommandsPromiseWhatTheBrokerDoes(t *testing.T) {
	for _, args := range []string{"skills list", "servers test s", "index"} {
		dir := t.TempDir()
		config := filepath.Join(dir, "servers.json")
		text := fmt.Sprintf(`{"mcpServers": {"s": {"command": %q, "args": [%q, %q]}}, "broker": {"skills": {"scan": false}}}`,
			fakeupstream.Command(), fakeupstream.Args(fakeupstream.Good)[0], fakeupstream.Good)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if stderr, code := ran(t, append(strings.Fields(args), "--config", config, "--state-dir", dir)...); code != exitOK {
			t.Fatalf("broker %s: code %d, %s", args, code, stderr)
		}
		seen, err := filepath.Glob(filepath.Join(dir, "catalogue", "seen-*.json"))
		if err != nil || len(seen) != 1 {
			t.Fatalf("broker %s has kept %v, %v", args, seen, err)
		}
		kept, err := os.ReadFile(seen[0])
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`"promised":"%v"`, broker.Promises()); !strings.Contains(string(kept), want) {
			t.Errorf("broker %s: no %s in %s", args, want, kept)
		}
	}
}
