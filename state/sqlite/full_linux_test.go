package sqlite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// If the disk is full, the error of opening a record or journals says so, however
// little room there is. The test runs again with its own small disk.
func TestFullDiskIsNamed(t *testing.T) {
	const disk = "BROKER_TEST_DISK"
	if at := os.Getenv(disk); at != "" {
		fillDisk(t, at)
		return
	}
	at := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", `mount -t tmpfs -o size=1m tmpfs "$0" || exit 99; exec "$@"`, at,
		os.Args[0], "-test.run=^TestFullDiskIsNamed$", "-test.v")
	cmd.Env = append(os.Environ(), disk+"="+at)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "=== RUN") {
		t.Skipf("no disk of its own for the test: %v %s", err, out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestFullDiskIsNamed") {
		t.Errorf("%v\n%s", err, out)
	}
}

// fillDisk opens a record and journals with ever more room on the disk.
func fillDisk(t *testing.T, at string) {
	fill := filepath.Join(at, "fill")
	named, opened := 0, 0
	for room := 0; room <= 512; room += 8 {
		if err := os.WriteFile(fill, make([]byte, (1024-room)<<10), 0o600); err == nil && room == 0 {
			_ = os.WriteFile(fill+"-rest", make([]byte, 1<<20), 0o600) // until nothing fits
		}
		dir := filepath.Join(at, fmt.Sprint("state", room))
		s, err := Open(dir, nil)
		switch {
		case err == nil:
			opened++
			_ = s.Close()
		case strings.Contains(err.Error(), "disk") && strings.Contains(err.Error(), "full"), strings.Contains(err.Error(), "no space left"):
			named++
		default:
			t.Errorf("with %d kB: %v", room, err)
		}
		runs := NewRuns(dir, nil)
		j := runs.Begin(state.Run{ID: state.NewRunID(), Started: time.Now()})
		err = j.Record(state.RunCall{Ordinal: 1, Tool: "x", State: state.RunMade}, true)
		if err != nil && !strings.Contains(err.Error(), "full") && !strings.Contains(err.Error(), "no space left") {
			t.Errorf("journals with %d kB: %v", room, err)
		}
		_ = runs.Close()
		for _, name := range []string{fill + "-rest", dir, fill} {
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if named < 5 || opened < 5 {
		t.Errorf("%d errors, and %d times it was opened", named, opened)
	}
}
