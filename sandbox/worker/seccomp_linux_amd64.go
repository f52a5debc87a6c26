package worker

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// archPrologue ends a process that makes a system call of the x32 ABI: the
// same ones under other numbers.
var archPrologue = []unix.SockFilter{
	{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: 0x40000000, Jf: 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: actKill},
}

// archDeadly are what only this architecture has.
var archDeadly = []uint32{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT}
