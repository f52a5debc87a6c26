// Package spawn starts child processes in groups of their own, which the kernel ends with this
// process, and ends them with the processes that they started.
//
// On Linux a child gets a parent-death signal (prctl(2), PR_SET_PDEATHSIG). Its "parent" is the
// thread that forked it, not the process, and Go ends threads, so a child of an arbitrary thread
// may be killed while its owner lives. Start uses one thread that never ends.
package spawn

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// LookPath is like exec.LookPath, for a program without a folder and the PATH of env. It does not
// search relative folders.
func LookPath(program string, env []string) (string, error) {
	if runtime.GOOS == "windows" { // it has its own rules for extensions
		return exec.LookPath(program)
	}
	for _, kv := range env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, program)
			if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
}

// cancelTree makes cmd kill its tree when its context ends.
func cancelTree(cmd *exec.Cmd) {
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { return KillTree(cmd.Process) }
	}
}
