package host

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// refuse makes a listener ignore connections that begin from now on, and reports
// whether it does. Those that others have begun can still be accepted: a listener
// that is closed resets them, and a balancer may have sent a request by then. Who
// begins one meanwhile tries again, and finds it closed.
func refuse(l net.Listener) bool {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false
	}
	const flags, syn, ack = 13, 0x02, 0x10 // of a TCP header
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: syn | ack},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: syn, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18},
	}
	done := false
	err = raw.Control(func(fd uintptr) {
		done = unix.SetsockoptSockFprog(int(fd), syscall.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}) == nil
	})
	return done && err == nil
}
