package launch

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// killMarked kills the processes of this user with mark in their environment: those
// that a server started in another session. It repeats until it finds none, since they
// may fork.
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

// KillOrphans kills the remaining processes of brokers that no longer exist.
func KillOrphans() {
	for _, pid := range markedProcesses(ownerGone) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Marked returns the living processes that bear mark or, of a broker's mark, one of
// its.
func Marked(mark string) []int {
	return markedProcesses(func(m string) bool { return m == mark || strings.HasPrefix(m, mark+".") })
}

// markedProcesses returns the living processes of this user with a wanted mark.
func markedProcesses(wanted func(mark string) bool) (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // those that it could read
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + name + "/environ") // Glob would list the folder of each process
		if err != nil || !bytes.Contains(env, []byte(markVariable)) {
			continue // another user's, or gone
		}
		_, mark, ok := bytes.Cut(append([]byte{0}, env...), []byte("\x00"+markVariable+"="))
		mark, _, _ = bytes.Cut(mark, []byte{0})
		if ok && wanted(string(mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}
