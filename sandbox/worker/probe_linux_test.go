//go:build linux && (amd64 || arm64)

package worker

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

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

// Operations are what a program may try that has taken over its process. The
// argument is a directory that the test owns.
var operations = map[string]func(dir string) error{
	"read a file": func(dir string) error { _, err := os.ReadFile(filepath.Join(dir, "file")); return err },
	"read another process": func(string) error {
		_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
		return err
	},
	"write a file":     func(dir string) error { return os.WriteFile(filepath.Join(dir, "new"), []byte("x"), 0o600) },
	"list a directory": func(dir string) error { _, err := os.ReadDir(dir); return err },
	"remove a file":    func(dir string) error { return os.Remove(filepath.Join(dir, "file")) },
	"chmod a file":     func(dir string) error { return os.Chmod(filepath.Join(dir, "file"), 0o777) },
	"stat a file":      func(dir string) error { _, err := os.Stat(filepath.Join(dir, "file")); return err },
	"socket": func(string) error {
		_, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		return err
	},
	"datagram":        func(string) error { _, err := net.Dial("udp", "127.0.0.1:9"); return err },
	"execute":         func(string) error { return unix.Exec("/bin/true", []string{"true"}, nil) },
	"start a process": func(string) error { return exec.Command("/bin/true").Run() },
	"fork": func(string) error {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return nil
	},
	"clone3": func(string) error {
		args := struct{ flags, pidfd, child, parent, signal, stack, size, tls uint64 }{signal: uint64(unix.SIGCHLD)}
		pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return nil
	},
	"signal the host": func(string) error { return unix.Kill(os.Getppid(), 0) },
	"signal a thread of the host": func(string) error {
		return unix.Tgkill(os.Getppid(), os.Getppid(), 0)
	},
	"trace the host": func(string) error { return unix.PtraceSeize(os.Getppid()) },
	"read the host's memory": func(string) error {
		b := make([]byte, 8)
		local := []unix.Iovec{{Base: &b[0], Len: 8}}
		_, err := unix.ProcessVMReadv(os.Getppid(), local, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b[0])), Len: 8}}, 0)
		return err
	},
	"new namespace": func(string) error { return unix.Unshare(unix.CLONE_NEWNET) },
	"run written code": func(string) error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
		return err
	},
	"anonymous file": func(string) error { _, err := unix.MemfdCreate("x", 0); return err },
	"pipe":           func(string) error { return unix.Pipe2(make([]int, 2), 0) },
	"duplicate a file": func(string) error {
		_, err := unix.FcntlInt(0, unix.F_DUPFD, 10)
		return err
	},
	"raise a limit": func(string) error {
		return unix.Prlimit(0, unix.RLIMIT_DATA, &unix.Rlimit{Cur: 1 << 40, Max: 1 << 40}, nil)
	},
	"limit the host": func(string) error {
		return unix.Prlimit(os.Getppid(), unix.RLIMIT_CPU, &unix.Rlimit{Cur: 1, Max: 1}, nil)
	},
	"become traceable": func(string) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) },
	"another filter":   func(string) error { return unix.Prctl(unix.PR_SET_SECCOMP, 2, 0, 0, 0) },
	"set the time":     func(string) error { return unix.Settimeofday(&unix.Timeval{}) },
	"a system call that nobody has": func(string) error {
		_, _, errno := unix.RawSyscall(499, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	},
	// What must go on.
	"start threads":    startThreads,
	"allocate":         func(string) error { b := make([]byte, 64<<20); b[len(b)-1] = 1; runtime.GC(); return nil },
	"wait":             func(string) error { <-time.After(time.Millisecond); return nil },
	"know local time":  func(string) error { _ = time.Now().Local().String(); return nil },
	"get random bytes": func(string) error { _, err := unix.Getrandom(make([]byte, 8), 0); return err },
	"limit processor time": func(string) error {
		limitCPU(time.Minute)
		var l unix.Rlimit
		err := unix.Prlimit(0, unix.RLIMIT_CPU, nil, &l)
		if err == nil && l.Max != 62*procs {
			err = fmt.Errorf("limit is %d", l.Max)
		}
		return err
	},
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

func init() { children["probe"] = probe }

// probe is the main of a child that is taken over by its first instruction: it
// contains itself and tries one operation.
func probe() {
	with, name, dir := os.Args[3], os.Args[4], os.Args[5]
	r, w := wire.NewReader(os.Stdin, 1<<20), wire.NewWriter(os.Stdout)
	if _, err := r.Next(); err != nil {
		os.Exit(9)
	}
	tune(256 << 20)
	layers, err := containments[with](256 << 20)
	if err != nil {
		panic(err)
	}
	ready, _ := wire.Marshal(wire.Ready{Layers: layers})
	w.Write(wire.TypeReady, 0, ready)
	if _, err := r.Next(); err != nil {
		os.Exit(9)
	}
	said := "done"
	if err := operations[name](dir); err != nil {
		said = "failed"
	}
	value, _ := json.Marshal(said)
	w.WriteDone(wire.Done{Value: value})
	r.Next()
}

// try lets a probe try an operation and says how that ended: "done", "failed",
// or "killed".
func try(t *testing.T, with, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := New(&Options{Args: []string{"probe", with, name, dir}, Spares: -1})
	defer r.Close()
	res, err := r.Run(t.Context(), sandbox.Request{Code: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if res.ExitCode == 0 {
		var said string
		if err := json.Unmarshal(res.Value, &said); err != nil {
			t.Fatal(err)
		}
		return said
	}
	if !strings.Contains(res.Error, "forbidden") {
		t.Errorf("%s: %s", name, res.Error)
	}
	return "killed"
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
		"become traceable": "failed", "another filter": "failed", "set the time": "failed", "a system call that nobody has": "failed",
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

func TestARequiredLayerThatIsMissingRunsNothing(t *testing.T) {
	r := New(&Options{Args: []string{"probe", "none", "wait", "/"}, Require: []string{sandbox.LayerSeccomp, sandbox.LayerLandlock}})
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
