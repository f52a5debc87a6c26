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

// thread is where all children are started. It is held by a goroutine that
// never returns.
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

// Start is cmd.Start on a thread that lives as long as this process. It is safe
// for concurrent use.
func Start(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	thread() <- func() { done <- cmd.Start() }
	return <-done
}

// StartIdle is Start for a process that should use little processor time while
// it waits: its timers may be late by slack. Go's own wake a short-lived process
// every few microseconds otherwise.
func StartIdle(cmd *exec.Cmd, slack time.Duration) error {
	done := make(chan error, 1)
	thread() <- func() {
		// A child begins with what its thread has; 0 is the default again. What
		// fails is only slower.
		const setTimerSlack = 29 // PR_SET_TIMERSLACK of prctl(2)
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, uintptr(slack), 0)
		defer syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 0, 0)
		done <- cmd.Start()
	}
	return <-done
}

// endWithParent has the kernel kill the child when this process dies.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// StartTime tells a process from a later one with the same id. It is "" if there
// is none, or only a zombie.
func StartTime(pid int) string {
	fields := statFields(pid)
	if len(fields) < 20 || string(fields[0]) == "Z" {
		return ""
	}
	return string(fields[19])
}

// PIDNamespace tells process ids of one container from those of another.
func PIDNamespace() string {
	link, _ := os.Readlink("/proc/self/ns/pid") // such as pid:[4026531836]
	return strings.Trim(link, "pid:[]")
}

// groupRuns reports whether the group has a process that is not a zombie. A
// grandchild that nobody reaps stays in the group forever.
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

// statFields are the fields of /proc/PID/stat from the state on: state, parent,
// group and so on. The command before them may hold anything.
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
