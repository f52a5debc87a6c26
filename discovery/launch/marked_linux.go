package launch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// leaveToGuard changes what happens to a server that may be being installed when
// the broker dies: it is the guard's then or, without one, asked to end.
func leaveToGuard(cmd *exec.Cmd, guarded bool) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	if guarded {
		cmd.SysProcAttr.Pdeathsig = 0
	}
}

// killMarked kills the processes of this user whose environment holds mark:
// those that a server started in a session of their own. It looks again until it
// finds none, since they may be forking.
func killMarked(mark string) {
	for range 5 {
		pids := markedProcesses(func(m string) bool { return m == mark })
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// KillOrphans kills what brokers that no longer exist have left running, unless
// their guard sees to it.
func KillOrphans() {
	guarded := guardedOwners()
	for _, pid := range markedProcesses(func(m string) bool { return ownerGone(m) && !guarded[ownerOf(m)] }) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// markedProcesses returns the living processes whose mark is wanted.
func markedProcesses(wanted func(mark string) bool) []int {
	var pids []int
	eachMarked(func(pid int, mark string, _ []byte) {
		if wanted(mark) {
			pids = append(pids, pid)
		}
	})
	return pids
}

// npxRuns reports whether npx has started the server in a process that bears
// mark, which it does when that is installed and not before.
func npxRuns(mark string) bool {
	runs := false
	eachMarked(func(_ int, m string, env []byte) {
		runs = runs || m == mark && bytes.Contains(env, []byte("\x00npm_lifecycle_event=npx\x00"))
	})
	return runs
}

// Finishing reports whether the guard of a broker that is gone lets an installation
// of c finish.
func Finishing(c Command) bool {
	id := c.installID()
	guarded, found := guardedOwners(), false
	eachMarked(func(_ int, mark string, env []byte) {
		found = found || bytes.Contains(env, []byte("\x00"+installVariable+"="+id+"\x00")) && ownerGone(mark) && guarded[ownerOf(mark)]
	})
	return found
}

// Marked returns the living processes that bear mark or, of a broker's mark, one of
// its.
func Marked(mark string) []int {
	return markedProcesses(func(m string) bool { return m == mark || strings.HasPrefix(m, mark+".") })
}

// eachMarked calls f with the processes of this user that bear a mark, and their
// environment, which begins and ends with a zero byte.
func eachMarked(f func(pid int, mark string, env []byte)) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ") // no error: the pattern is right
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte(markVariable)) {
			continue // another user's, or gone
		}
		env = append([]byte{0}, env...)
		_, mark, ok := bytes.Cut(env, []byte("\x00"+markVariable+"="))
		mark, _, _ = bytes.Cut(mark, []byte{0})
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if ok && err == nil && pid != os.Getpid() {
			f(pid, string(mark), env)
		}
	}
}
