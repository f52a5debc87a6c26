package spawn

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// thread runs functions on the thread that starts all children. A goroutine that never returns
// holds the thread.
var thread = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// Start is like cmd.Start, on a thread that lives as long as this process. It is safe for
// concurrent use.
func Start(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	thread() <- func() { done <- cmd.Start() }
	return <-done
}

// StartIdle is like Start, for a process that should use little processor time while it waits: its
// timers may be late by slack. Otherwise Go's timers wake a short-lived process every few
// microseconds.
func StartIdle(cmd *exec.Cmd, slack time.Duration) error {
	done := make(chan error, 1)
	thread() <- func() {
		// A child inherits the value of its thread; 0 restores the default. A failure only costs
		// speed.
		const setTimerSlack = 29 // PR_SET_TIMERSLACK of prctl(2)
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, uintptr(slack), 0)
		defer syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 0, 0)
		done <- cmd.Start()
	}
	return <-done
}

// endWithParent makes the kernel kill the child when this process dies.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// StartTime returns a text that distinguishes a process from a later one with the same id, or ""
// if there is none or only a zombie.
func StartTime(pid int) string {
	fields := statFields(pid)
	if len(fields) < 20 || string(fields[0]) == "Z" {
		return ""
	}
	return string(fields[19])
}

// PIDNamespace returns the namespace of process ids, which differs between containers.
func PIDNamespace() string {
	link, _ := os.Readlink("/proc/self/ns/pid") // such as pid:[4026531836]
	return strings.Trim(link, "pid:[]")
}

// groupRuns reports whether the group contains a process that is not a zombie. A grandchild that
// nobody reaps stays in the group forever.
func groupRuns(pgid int) bool {
	want := []byte(strconv.Itoa(pgid))
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		if f := statFields(pid); len(f) > 2 && bytes.Equal(f[2], want) && string(f[0]) != "Z" && string(f[0]) != "X" {
			return true
		}
	}
	return false
}

// statFields returns the fields of /proc/PID/stat from the state on: state, parent, group and so
// on. The command before them may contain anything.
func statFields(pid int) [][]byte {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	_, rest, ok := bytes.Cut(b[bytes.LastIndexByte(b, ')')+1:], []byte(" "))
	if !ok {
		return nil
	}
	return bytes.Fields(rest)
}
