package typecheck

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// maxFiles is the number of descriptors of a compiler.
const maxFiles = 256

// libraries are where a compiler that is not linked statically has its own.
var libraries = []string{"/lib", "/lib64", "/usr/lib"}

// become limits this process and puts the compiler in its place.
func become(j job) error {
	for _, l := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"memory", unix.RLIMIT_DATA, uint64(j.MemoryBytes)},
		{"processor time", unix.RLIMIT_CPU, uint64(j.CPU/time.Second) + 1},
		{"core size", unix.RLIMIT_CORE, 0},
		{"file size", unix.RLIMIT_FSIZE, 0},
		{"open files", unix.RLIMIT_NOFILE, maxFiles},
	} {
		var old unix.Rlimit
		if err := unix.Getrlimit(l.resource, &old); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
		value := min(l.value, old.Max)
		// syscall's own remembers that the limit of files is not Go's to raise.
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("limit %s to %d: %w", l.name, value, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	// Without Landlock, the other measures remain: the compiler's options restrict it
	// to the tree.
	if err := landlock.V5.BestEffort().Restrict(
		landlock.RODirs(j.Read...), landlock.ROFiles(j.Compiler),
		landlock.RODirs(libraries...).IgnoreIfMissing(), landlock.ROFiles("/etc/ld.so.cache").IgnoreIfMissing(),
	); err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	return syscall.Exec(j.Compiler, append([]string{j.Compiler}, j.Args...), []string{})
}

// command is the launcher of j, in a group of its own, which ends with this
// process.
func command(ctx context.Context, launcher string, j job) (*exec.Cmd, error) {
	if launcher == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		launcher = self
	}
	told, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, launcher)
	cmd.Args = []string{launcher0, launcher1, string(told)}
	spawn.Group(cmd)
	return cmd, nil
}
