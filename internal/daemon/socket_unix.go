//go:build unix

package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// listen creates the socket of a location. Only the holder of its lock may call it. It replaces
// the socket of a dead daemon.
func listen(p location) (net.Listener, error) {
	if err := ownFolder(p.folder); err != nil {
		return nil, err
	}
	// A process of another user can connect only if it has write permission: the socket gets its
	// name after its mode is set.
	fresh := p.socket + "." + strconv.Itoa(os.Getpid())
	_ = os.Remove(fresh)
	l, err := net.Listen("unix", fresh)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // otherwise it would remove its replacement
	if err := errors.Join(os.Chmod(fresh, 0o600), os.Rename(fresh, p.socket)); err != nil {
		_ = l.Close()
		_ = os.Remove(fresh)
		return nil, err
	}
	return l, nil
}

// ownFolder creates the folder of the socket, and refuses one that others may write to.
func ownFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s must be a folder that you own and that others cannot write to: %w", dir, fs.ErrPermission)
	}
	return nil
}

// unlist removes the socket's name, which prevents new connections.
func unlist(p location) { _ = os.Remove(p.socket) }

// dial connects to the socket of a location, if it belongs to this user.
func dial(p location) (net.Conn, error) {
	info, err := os.Lstat(p.socket)
	if err != nil {
		return nil, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || info.Mode().Type() != fs.ModeSocket || int(st.Uid) != os.Getuid() {
		return nil, fmt.Errorf("%s is not a socket of yours: %w", p.socket, fs.ErrPermission)
	}
	conn, err := net.Dial("unix", p.socket)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// notRunning reports whether an error of dial means that no daemon listens.
func notRunning(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET)
}

// checkPeer returns an error if the other end of a connection belongs to another user.
func checkPeer(conn net.Conn) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	uid, failure := -1, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, failure = peerUID(int(fd)) }); err != nil {
		return err
	}
	if failure != nil {
		return failure
	}
	if uid != os.Getuid() {
		return fmt.Errorf("the other end belongs to user %d: %w", uid, fs.ErrPermission)
	}
	return nil
}

// Start starts a program that outlives this one, with no terminal and its output in a file. The
// channel receives the error with which it ended.
func Start(program string, args, env []string, dir, log string) (<-chan error, error) {
	out, err := openLog(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, dir, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return ended, nil
}

const maxLogBytes = 10 << 20

// openLog opens the daemon's log, and renames one that has become too large.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogBytes {
		_ = os.Rename(path, path+".1")
	}
	return os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// runs reports whether a process has not ended. A process that its parent has not waited
// for has ended.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return err != nil || !bytes.HasPrefix(state, []byte("Z"))
}
