package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"syscall"
	"time"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// pipe returns the name of the pipe: the user's SID and the directory.
func (l location) pipe() (name, sid string, err error) {
	u, err := user.Current()
	if err != nil {
		return "", "", err
	}
	return `\\.\pipe\broker-` + u.Uid + "-" + sum(filepath.Dir(l.lock)), u.Uid, nil
}

// listen creates the pipe of a location, for this user and the system only: by default everybody
// could read it.
func listen(l location) (net.Listener, error) {
	name, sid, err := l.pipe()
	if err != nil {
		return nil, err
	}
	return winio.ListenPipe(name, &winio.PipeConfig{SecurityDescriptor: "D:P(A;;GA;;;" + sid + ")(A;;GA;;;SY)"})
}

// unlist does nothing: a pipe ends with its listener.
func unlist(location) {}

func dial(l location) (net.Conn, error) {
	name, _, err := l.pipe()
	if err != nil {
		return nil, err
	}
	wait := time.Second
	return winio.DialPipe(name, &wait)
}

func notRunning(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// checkPeer does nothing: the pipe's access list restricts clients.
func checkPeer(net.Conn) error { return nil }

// Start starts a program that outlives this one, with no terminal and its output in a file. It
// fails if this process belongs to a job that ends its processes and that they cannot leave. The
// channel receives the error with which the program ended.
func Start(program string, args, env []string, dir, log string) (<-chan error, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, dir, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_BREAKAWAY_FROM_JOB | windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP,
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("a process that outlives this client is not allowed here: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return ended, nil
}

// runs reports whether a process has not ended.
func runs(pid int) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	event, err := windows.WaitForSingleObject(h, 0)
	return err != nil || event != windows.WAIT_OBJECT_0
}
