package worker

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// dataMargin is what the Go runtime, its threads' stacks, esbuild and goja need
// besides what the program may use. It is on top of what the process has when
// it starts, most of which the Go runtime has reserved and never touches.
const dataMargin = 64 << 20

// maxFiles is the number of descriptors of a child: the three that it has, and
// those of the Go runtime's poller.
const maxFiles = 16

// harden takes from this process what the program does not need, in an order
// in which each step still allows the next, and says what contains it then. It
// is called before anything that the program has a hand in is read. A step that
// every kernel has must succeed.
func harden(memory int64) ([]sandbox.Layer, error) {
	if err := limit(memory); err != nil {
		return nil, fmt.Errorf("harden: %w", err)
	}
	_ = time.Local.String() // it is read from a file when it is first used
	files := restrictFiles()
	// Landlock has all threads give up new privileges. Without it one does, and the
	// filter hands that on to all.
	if given, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || given != 1 {
		runtime.LockOSThread() // starts a thread
		defer runtime.UnlockOSThread()
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("harden: give up new privileges: %w", err)
		}
	}
	return append(baseLayers(), files, seccomp()), nil
}

// baseLayers are those that every Linux has.
func baseLayers() []sandbox.Layer {
	return []sandbox.Layer{
		{Name: sandbox.LayerProcess, Active: true, Detail: "one for each run, in a group of its own, without environment, killed after it and with its host"},
		{Name: sandbox.LayerMemory, Active: true, Detail: "writable memory is limited by the kernel, used memory is watched"},
		{Name: sandbox.LayerLimits, Active: true, Detail: "no open files but its pipes, no files written, no core dump, no new privileges, not traceable, processor time bounded"},
	}
}

// limit sets the limits that every kernel has.
func limit(memory int64) error {
	limits := []struct {
		name     string
		resource int
		value    uint64
	}{
		{"memory", unix.RLIMIT_DATA, dataSize() + uint64(memory) + dataMargin},
		{"core size", unix.RLIMIT_CORE, 0},
		{"file size", unix.RLIMIT_FSIZE, 0},
		{"open files", unix.RLIMIT_NOFILE, maxFiles},
	}
	for _, l := range limits {
		if err := lower(l.resource, l.value); err != nil {
			return fmt.Errorf("limit %s to %d: %w", l.name, l.value, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make memory unreadable to others: %w", err)
	}
	return nil
}

// dataSize returns how much private writable memory this process has mapped.
func dataSize() uint64 {
	const sixth = 5 // pages of data and stack
	statm, _ := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(statm)); len(fields) > sixth {
		if pages, err := strconv.ParseUint(fields[sixth], 10, 64); err == nil {
			return pages * uint64(os.Getpagesize())
		}
	}
	return dataMargin // no /proc: about what the Go runtime starts with
}

// lower sets both limits of a resource, or leaves them if they are lower.
func lower(resource int, value uint64) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(resource, &old); err != nil {
		return err
	}
	value = min(value, old.Max)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value})
}

// limitCPU bounds the processor time of this process by what a run of length
// timeout can use. The host kills the process long before; this is for the
// case that the host was killed itself.
func limitCPU(timeout time.Duration) {
	value := uint64(timeout/time.Second+2) * procs
	// Not by lower: this is the one call for which the filter has an exception.
	_ = unix.Prlimit(0, unix.RLIMIT_CPU, &unix.Rlimit{Cur: value, Max: value}, nil)
}

// closeInherited closes what this process got from its host's own parent: the
// host's files are closed on exec. It comes first, when there is nothing else to
// close, as a rule; what the Go runtime's poller has opened stays.
func closeInherited() error {
	if !polled() && unix.CloseRange(3, math.MaxInt32, 0) == nil {
		return nil
	}
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil // without /proc, owners cannot be determined
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		target, err := os.Readlink(dir + "/" + e.Name())
		if err != nil || ofRuntime(target) {
			continue // it was the directory's own, or is needed
		}
		unix.Close(fd)
	}
	return nil
}

// polled says whether the Go runtime has opened files for its poller already, which
// it does for input or output that does not block, and for what a program that embeds
// the worker has begun before: these files are of no type.
func polled() bool {
	for fd := range uintptr(3) {
		if flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
			return true
		}
	}
	for fd := range 32 {
		var at unix.Stat_t
		if unix.Fstat(fd, &at) == nil && at.Mode&unix.S_IFMT == 0 {
			return true
		}
	}
	return false
}

// ofRuntime says whether the Go runtime needs such a file: those of its poller.
// What it has opened to follow the control group's processor limit is of no use
// after tune.
func ofRuntime(target string) bool { return strings.HasPrefix(target, "anon_inode:[event") }
