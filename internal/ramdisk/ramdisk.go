// Package ramdisk gives tests files in memory: those that make, sync and remove many files wait for
// the disk most of the time.
package ramdisk

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// prefix begins the names of directories, before the number of the process that made them.
const prefix = "mcpbroker-test-"

// MkdirTemp makes a directory, which the caller removes. It is in memory unless $TMPDIR is set or
// the system has less than 1 GiB for such files. MkdirTemp also removes the directories of
// processes that were killed.
func MkdirTemp() (string, error) {
	parent := ""
	if os.Getenv("TMPDIR") == "" {
		parent = dir()
	}
	if parent != "" {
		removeLeft(parent)
	}
	return os.MkdirTemp(parent, fmt.Sprintf("%s%d-", prefix, os.Getpid()))
}

// removeLeft removes the directories of processes that have ended.
func removeLeft(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, prefix+"*-*"))
	for _, path := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), prefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && gone(n) {
			_ = os.RemoveAll(path)
		}
	}
}

// Main runs the tests of a package, whose temporary files are in a directory of MkdirTemp, and
// exits. It is for packages that start no programs from these: some systems forbid that.
func Main(m *testing.M) { os.Exit(Run(m.Run)) }

// Run is like Main for a function that returns the exit code, which Run returns.
func Run(tests func() int) int {
	dir, err := MkdirTemp()
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return tests()
}
