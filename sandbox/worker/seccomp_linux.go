//go:build linux && (amd64 || arm64)

package worker

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// What becomes of a system call. What only a runtime that was taken over asks
// for ends the process, which the host sees and logs; what is merely not needed
// fails, because a library may try it and go on without.
const (
	actAllow = unix.SECCOMP_RET_ALLOW
	actKill  = unix.SECCOMP_RET_KILL_PROCESS
	actDeny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	// actAbsent is for calls that have an older form, which libraries fall
	// back to.
	actAbsent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	// actInvalid makes the Go runtime stop asking for the name of a mapping.
	actInvalid = unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)
)

// A rule says what becomes of one system call: then if all that it wants of
// the arguments holds, otherwise if not.
type rule struct {
	nr              uint32
	want            []want
	then, otherwise uint32
}

// A want holds if the low half of an argument, masked, is value. No argument
// that is looked at here has a meaning in its high half.
type want struct {
	arg         int
	mask, value uint32
}

// allowed are the system calls that the Go runtime, goja and esbuild make
// after a process has contained itself, on all architectures; the most frequent
// are first. tools: strace -f of the suite shows them.
var allowed = []uint32{
	unix.SYS_FUTEX, unix.SYS_READ, unix.SYS_WRITE, unix.SYS_NANOSLEEP, unix.SYS_EPOLL_PWAIT,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_RT_SIGRETURN, unix.SYS_SCHED_YIELD, unix.SYS_MADVISE,
	unix.SYS_MUNMAP, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGACTION, unix.SYS_SIGALTSTACK,
	unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM, unix.SYS_RESTART_SYSCALL,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EVENTFD2, unix.SYS_CLOSE,
	unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// deadly are the system calls with which a process reaches another one, a
// network, new privileges or wide parts of the kernel.
var deadly = []uint32{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT,
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP,
	unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_PROCESS_MADVISE,
	unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2,
	unix.SYS_FSOPEN, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_MEMFD_CREATE,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID, unix.SYS_SETREUID, unix.SYS_SETREGID,
	unix.SYS_SETGROUPS, unix.SYS_CAPSET,
}

// rules are the whole policy for the process pid. What no rule names is denied.
func rules(pid int) []rule {
	const (
		thread     = unix.CLONE_THREAD | unix.CLONE_VM | unix.CLONE_SIGHAND
		namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
		all = 1<<32 - 1
	)
	var list []rule
	for _, nr := range allowed {
		list = append(list, rule{nr: nr, then: actAllow})
	}
	noCode := []want{{arg: 2, mask: unix.PROT_EXEC}}
	list = append(list,
		rule{unix.SYS_MMAP, noCode, actAllow, actDeny},
		rule{unix.SYS_MPROTECT, noCode, actAllow, actDeny},
		// A signal to one of its own threads is how the Go scheduler preempts.
		rule{unix.SYS_TGKILL, []want{{arg: 0, mask: all, value: uint32(pid)}}, actAllow, actKill},
		// A thread, and no process.
		rule{unix.SYS_CLONE, []want{{arg: 0, mask: thread | namespaces, value: thread}}, actAllow, actKill},
		// Its flags are in memory, where no filter sees them.
		rule{nr: unix.SYS_CLONE3, then: actAbsent},
		rule{nr: unix.SYS_PRCTL, then: actInvalid},
		// Its own limit on processor time, which is set with the program.
		rule{unix.SYS_PRLIMIT64, []want{{arg: 0, mask: all, value: 0}, {arg: 1, mask: all, value: unix.RLIMIT_CPU}}, actAllow, actDeny},
	)
	for _, nr := range append(deadly, archDeadly...) {
		list = append(list, rule{nr: nr, then: actKill})
	}
	return list
}

// Where the kernel puts what a filter looks at.
const (
	dataNr   = 0
	dataArch = 4
	dataArgs = 16 // eight bytes each; both architectures have the low half first
)

// assemble returns the filter of the rules.
func assemble(list []rule) []unix.SockFilter {
	const (
		load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		and  = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		jeq  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret  = unix.BPF_RET | unix.BPF_K
	)
	f := []unix.SockFilter{
		{Code: load, K: dataArch},
		{Code: jeq, K: arch, Jt: 1},
		{Code: ret, K: actKill},
		{Code: load, K: dataNr},
	}
	f = append(f, archPrologue...)
	for _, r := range list {
		var body []unix.SockFilter
		for _, w := range r.want {
			body = append(body,
				unix.SockFilter{Code: load, K: uint32(dataArgs + 8*w.arg)},
				unix.SockFilter{Code: and, K: w.mask},
				unix.SockFilter{Code: jeq, K: w.value, Jt: 1},
				unix.SockFilter{Code: ret, K: r.otherwise},
			)
		}
		body = append(body, unix.SockFilter{Code: ret, K: r.then})
		f = append(f, unix.SockFilter{Code: jeq, K: r.nr, Jf: uint8(len(body))})
		f = append(f, body...)
	}
	return append(f, unix.SockFilter{Code: ret, K: actDeny})
}

// seccomp gives all threads of this process the filter. They must have given up
// new privileges, or the calling one, and the caller must be locked to that.
func seccomp() sandbox.Layer {
	l := sandbox.Layer{Name: sandbox.LayerSeccomp}
	list := rules(os.Getpid())
	f := assemble(list)
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	switch {
	case errno != 0:
		l.Detail = fmt.Sprintf("the kernel takes no filter of system calls: %v", errno)
	case thread != 0:
		l.Detail = fmt.Sprintf("thread %d could not be given the filter", thread)
	default:
		l.Active = true
		l.Detail = fmt.Sprintf("%d system calls are allowed, on all threads", countAllowed(list))
	}
	return l
}

func countAllowed(list []rule) int {
	n := 0
	for _, r := range list {
		if r.then == actAllow {
			n++
		}
	}
	return n
}
