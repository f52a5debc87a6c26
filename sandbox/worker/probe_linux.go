//go:build linux && (amd64 || arm64)

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// An operation is something that a program may try that has taken over its
// process. None does harm where it succeeds: dir belongs to the probe, and what
// is asked of others changes nothing.
type operation struct {
	name string
	do   func(dir string) error
}

// hostPID is the process that started this one. It is asked for before the
// operations, which may not.
var hostPID = os.Getppid()

// forbidden are the operations that must not succeed.
var forbidden = []operation{
	{"read a file", func(dir string) error { _, err := os.ReadFile(filepath.Join(dir, "file")); return err }},
	{"read another process", func(string) error {
		_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", hostPID))
		return err
	}},
	{"write a file", func(dir string) error { return os.WriteFile(filepath.Join(dir, "new"), []byte("x"), 0o600) }},
	{"list a directory", func(dir string) error { _, err := os.ReadDir(dir); return err }},
	{"remove a file", func(dir string) error { return os.Remove(filepath.Join(dir, "file")) }},
	{"chmod a file", func(dir string) error { return os.Chmod(filepath.Join(dir, "file"), 0o777) }},
	{"stat a file", func(dir string) error { _, err := os.Stat(filepath.Join(dir, "file")); return err }},
	{"socket", func(string) error {
		_, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		return err
	}},
	{"datagram", func(string) error {
		_, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		return err
	}},
	{"execute", func(string) error { return unix.Exec("/bin/true", []string{"true"}, nil) }},
	{"start a process", func(string) error {
		_, err := syscall.ForkExec("/bin/true", []string{"true"}, nil)
		return err
	}},
	{"fork", func(string) error {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return nil
	}},
	{"clone3", func(string) error {
		args := struct{ flags, pidfd, child, parent, signal, stack, size, tls uint64 }{signal: uint64(unix.SIGCHLD)}
		pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		return nil
	}},
	{"signal the host", func(string) error { return unix.Kill(hostPID, 0) }},
	{"signal a thread of the host", func(string) error {
		return unix.Tgkill(hostPID, hostPID, 0)
	}},
	{"trace the host", func(string) error { return unix.PtraceSeize(hostPID) }},
	{"read the host's memory", func(string) error {
		b := make([]byte, 8)
		local := []unix.Iovec{{Base: &b[0], Len: 8}}
		_, err := unix.ProcessVMReadv(hostPID, local, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b[0])), Len: 8}}, 0)
		return err
	}},
	{"new namespace", func(string) error { return unix.Unshare(unix.CLONE_NEWNET) }},
	{"run written code", func(string) error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
		return err
	}},
	{"anonymous file", func(string) error { _, err := unix.MemfdCreate("x", 0); return err }},
	{"raise a limit", func(string) error {
		return unix.Prlimit(0, unix.RLIMIT_DATA, &unix.Rlimit{Cur: 1 << 40, Max: 1 << 40}, nil)
	}},
	{"become traceable", func(string) error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }},
	{"limit the host", func(string) error {
		var same unix.Rlimit
		if err := unix.Prlimit(hostPID, unix.RLIMIT_CPU, nil, &same); err != nil {
			return err
		}
		return unix.Prlimit(hostPID, unix.RLIMIT_CPU, &same, nil)
	}},
	// What the kernel finds wrong with these two it finds when it lets them in.
	{"load another filter", func(string) error { return unlessIs(unix.EFAULT, unix.Prctl(unix.PR_SET_SECCOMP, 2, 0, 0, 0)) }},
	{"set the time", func(string) error { return unlessIs(unix.EINVAL, unix.Settimeofday(&unix.Timeval{Usec: -1})) }},
}

// unlessIs returns err unless it is harmless.
func unlessIs(harmless unix.Errno, err error) error {
	if err == harmless {
		return nil
	}
	return err
}

// probing is the main of a child that is taken over by its first instruction: it
// contains itself, as far as contain goes, and tries one operation in dir.
func probing(contain func(memory int64) ([]sandbox.Layer, error), name, dir string) {
	i := slices.IndexFunc(operations, func(o operation) bool { return o.name == name })
	if i < 0 {
		fmt.Fprintf(os.Stderr, "sandbox process: no operation %q\n", name)
		os.Exit(1)
	}
	c := &conn{contain: contain, r: wire.NewReader(os.Stdin, 1<<20), w: wire.NewWriter(os.Stdout)}
	err := c.expect(wire.TypeHello, &c.hello)
	if err == nil {
		tune(c.hello.MemoryBytes)
		err = c.ready()
	}
	if err == nil {
		_, err = c.r.Next() // the program, which is nothing here
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox process:", err)
		os.Exit(1)
	}
	said := ""
	if err := operations[i].do(dir); err != nil {
		said = reason(err)
	}
	value, _ := json.Marshal(said)
	c.w.WriteDone(wire.Done{Value: value})
	c.r.Next() // ends with the host
	os.Exit(0)
}

// reason is an error without the names of the probe's own files.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Op + ": " + p.Err.Error()
	}
	return err.Error()
}

// operations are all that can be asked for.
var operations = forbidden

// probeWith lets children with these arguments try the forbidden operations,
// one each.
func probeWith(ctx context.Context, o Options, args ...string) ([]Probe, error) {
	var all []Probe
	for _, op := range forbidden {
		p, err := tryOne(ctx, o, op.name, args...)
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	return all, nil
}

// tryOne lets a child with these arguments try one operation.
func tryOne(ctx context.Context, o Options, name string, args ...string) (Probe, error) {
	dir, err := os.MkdirTemp("", "probe")
	if err != nil {
		return Probe{}, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("secret"), 0o600); err != nil {
		return Probe{}, err
	}
	o.Args, o.Spares = append(slices.Clone(args), name, dir), -1
	r := New(&o)
	defer r.Close()
	res, err := r.Run(ctx, sandbox.Request{Code: "1"})
	if err != nil {
		return Probe{}, err
	}
	return judge(name, res), nil
}

// judge says how an operation has ended.
func judge(name string, res sandbox.Result) Probe {
	p := Probe{Name: name, How: "done"}
	var said string
	switch {
	case res.ExitCode == sandbox.ExitMemory && res.Error == host.Forbidden:
		p.How, p.Held = "killed", true
	case res.ExitCode != sandbox.ExitOK || json.Unmarshal(res.Value, &said) != nil:
		p.How = "unclear: " + res.Error
	case said != "":
		p.How, p.Held = "failed: "+said, true
	}
	return p
}
