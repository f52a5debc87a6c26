package worker

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// Here clone is the only way to a process, and there is one ABI.
var (
	archPrologue []unix.SockFilter
	archDeadly   []uint32
)
