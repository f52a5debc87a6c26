//go:build linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// A containment is what a probe puts around itself: all that a child has, or
// one layer alone.
var containments = map[string]func(memory int64) ([]sandbox.Layer, error){
	"full": harden,
	"none": func(int64) ([]sandbox.Layer, error) { return nil, nil },
	"landlock": func(int64) ([]sandbox.Layer, error) {
		return []sandbox.Layer{restrictFiles()}, nil
	},
	"seccomp": func(int64) ([]sandbox.Layer, error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		return []sandbox.Layer{seccomp()}, err
	},
}

// unneeded are operations that are denied because no program needs them, and
// needed those that must go on.
var unneeded = []operation{
	{"pipe", func(string) error { return unix.Pipe2(make([]int, 2), 0) }},
	{"duplicate a file", func(string) error {
		_, err := unix.FcntlInt(0, unix.F_DUPFD, 10)
		return err
	}},
	{"a system call that nobody has", func(string) error {
		_, _, errno := unix.RawSyscall(499, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	}},
}

var needed = []operation{
	{"start threads", startThreads},
	{"allocate", func(string) error { b := make([]byte, 64<<20); b[len(b)-1] = 1; runtime.GC(); return nil }},
	{"wait", func(string) error { <-time.After(time.Millisecond); return nil }},
	{"know local time", func(string) error { _ = time.Now().Local().String(); return nil }},
	{"get random bytes", func(string) error { _, err := unix.Getrandom(make([]byte, 8), 0); return err }},
	{"limit processor time", func(string) error {
		limitCPU(time.Minute)
		var l unix.Rlimit
		err := unix.Prlimit(0, unix.RLIMIT_CPU, nil, &l)
		if err == nil && l.Max != 62*procs {
			err = fmt.Errorf("limit is %d", l.Max)
		}
		return err
	}},
}

// startThreads makes the runtime start threads by blocking some.
func startThreads(string) error {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			runtime.LockOSThread()
			unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
		})
	}
	wg.Wait()
	return nil
}

func init() {
	children["probe-with"] = func() {
		operations = slices.Concat(forbidden, unneeded, needed)
		probing(containments[os.Args[3]], os.Args[4], os.Args[5])
	}
}

// try lets a probe try an operation and says how that ended: "done", "failed",
// or "killed".
func try(t *testing.T, with, name string) string {
	t.Helper()
	p, err := tryOne(t.Context(), Options{}, name, "probe-with", with)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(p.How, "unclear") {
		t.Errorf("%s: %s", name, p.How)
	}
	how, _, _ := strings.Cut(p.How, ":")
	return how
}

// need skips the test unless the layers are active on this machine.
func need(t *testing.T, names ...string) {
	t.Helper()
	r := New(&Options{Spares: -1})
	defer r.Close()
	layers, err := r.(sandbox.Layered).Layers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := sandbox.RequireLayers(layers, names); err != nil {
		t.Skip(err)
	}
}

// What a process can still do after it has contained itself is tried from
// inside, each operation in a process of its own.
func TestNothingGetsOutOfAProcessThatWasTakenOver(t *testing.T) {
	need(t, sandbox.LayerSeccomp, sandbox.LayerLandlock)
	for name, want := range map[string]string{
		"read a file": "failed", "read another process": "failed", "write a file": "failed", "list a directory": "failed",
		"remove a file": "failed", "chmod a file": "failed", "stat a file": "failed",
		"socket": "killed", "datagram": "killed",
		"execute": "killed", "start a process": "failed", "fork": "killed", "clone3": "failed",
		"signal the host": "killed", "signal a thread of the host": "killed",
		"trace the host": "killed", "read the host's memory": "killed",
		"new namespace": "killed", "run written code": "failed", "anonymous file": "killed",
		"pipe": "failed", "duplicate a file": "failed", "raise a limit": "failed", "limit the host": "failed",
		"become traceable": "failed", "load another filter": "failed", "set the time": "failed", "a system call that nobody has": "failed",
		"start threads": "done", "allocate": "done", "wait": "done", "know local time": "done", "get random bytes": "done", "limit processor time": "done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := try(t, "full", name); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		})
	}
}

// Each layer holds by itself, so that a gap in one is no way out. Without any,
// the probe can do all of it: it tests what it says.
func TestEachLayerHoldsAlone(t *testing.T) {
	need(t, sandbox.LayerSeccomp, sandbox.LayerLandlock)
	for _, name := range []string{"read a file", "write a file", "list a directory", "remove a file"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for with, want := range map[string]string{"none": "done", "landlock": "failed", "seccomp": "failed"} {
				if got := try(t, with, name); got != want {
					t.Errorf("%s, with %s: %s, want %s", name, with, got, want)
				}
			}
		})
	}
	for _, name := range []string{"socket", "fork", "signal the host", "pipe", "duplicate a file"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := try(t, "none", name); got != "done" {
				t.Errorf("%s, without a layer: %s", name, got)
			}
		})
	}
}

// What users are shown: all holds where both layers are, and what is open
// without one of them is told.
func TestProbesTellALayerThatIsMissing(t *testing.T) {
	need(t, sandbox.LayerSeccomp, sandbox.LayerLandlock)
	probes, err := ProbeAll(t.Context(), nil)
	if err != nil || len(probes) != len(forbidden) {
		t.Fatalf("%d probes, %v; want %d", len(probes), err, len(forbidden))
	}
	for _, p := range probes {
		if !p.Held || p.How == "" || p.How == "done" {
			t.Errorf("%+v, want it to hold", p)
		}
	}
	for with, want := range map[string]map[string]bool{
		"none":     {"read a file": false, "socket": false, "fork": false, "signal the host": false, "execute": false},
		"landlock": {"read a file": true, "socket": false, "fork": false},
		"seccomp":  {"read a file": true, "socket": true, "fork": true, "signal the host": true},
	} {
		probes, err := probeWith(t.Context(), Options{}, "probe-with", with)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range probes {
			if held, known := want[p.Name]; known && p.Held != held {
				t.Errorf("with %s: %+v, want held %v", with, p, held)
			}
		}
	}
}

func TestARequiredLayerThatIsMissingRunsNothing(t *testing.T) {
	r := New(&Options{Args: []string{"probe-with", "none", "wait", "/"}, Require: []string{sandbox.LayerSeccomp, sandbox.LayerLandlock}})
	defer r.Close()
	res, err := r.Run(t.Context(), sandbox.Request{Code: "1"})
	if err == nil || !strings.Contains(err.Error(), "must have seccomp and landlock") {
		t.Errorf("%+v, %v; want an error that names both", res, err)
	}
	if _, err := r.(sandbox.Layered).Layers(t.Context()); err == nil {
		t.Error("Layers does not report it")
	}
}

// The filter of a program's process must hold for every thread, also those
// that were there before it.
func TestTheFilterIsOnAllThreads(t *testing.T) {
	need(t, sandbox.LayerSeccomp)
	p, err := startProcess(t.Context(), &Options{}, wire.Hello{Version: wire.Version, MemoryBytes: 256 << 20, Warm: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.end()
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p.cmd.Process.Pid))
	if len(tasks) < 2 {
		t.Fatalf("threads %q", tasks)
	}
	for _, name := range tasks {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // ended meanwhile
		}
		for _, line := range []string{"Seccomp:\t2", "NoNewPrivs:\t1"} {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s has no %q", name, line)
			}
		}
	}
}
