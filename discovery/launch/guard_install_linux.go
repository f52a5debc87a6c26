package launch

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// installLimit is how long an installation may take that has been left to the
	// guard. Nothing of a broker runs longer after it.
	installLimit = 5 * time.Minute
	installPoll  = 200 * time.Millisecond
)

// A ward is what a guard knows of the servers that its broker starts with
// package runners.
type ward struct {
	installs  map[string]*install // by mark
	finishing sync.WaitGroup
}

// An install is a server that may be being installed.
type install struct {
	mark  string
	pipes []*os.File // its stdin, stdout and stderr: without a reader it could not print, and would end
	left  bool       // to the guard
}

// follow does what the broker says until the socket is closed. It reports
// whether the broker has dismissed the guard, and not just ended.
func (w *ward) follow(conn *net.UnixConn) (dismissed bool) {
	buf, rights := make([]byte, 512), make([]byte, 64)
	for {
		n, rn, _, _, err := conn.ReadMsgUnix(buf, rights)
		if err != nil || n == 0 {
			return dismissed
		}
		verb, mark, _ := strings.Cut(string(buf[:n]), " ")
		i := w.installs[mark]
		switch {
		case verb == guardDismiss:
			dismissed = true
		case verb == guardInstalls:
			w.installs[mark] = &install{mark: mark, pipes: filesIn(rights[:rn])}
		case i == nil || i.left:
		case verb == guardStarted:
			i.close()
			delete(w.installs, mark)
		case verb == guardFinish:
			w.finish(i)
		}
	}
}

// filesIn are the files that came with a message.
func filesIn(rights []byte) (files []*os.File) {
	messages, _ := syscall.ParseSocketControlMessage(rights) // nothing but the broker sends any
	for _, m := range messages {
		fds, _ := syscall.ParseUnixRights(&m)
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "output"))
		}
	}
	return files
}

func (i *install) close() {
	for _, f := range i.pipes {
		f.Close()
	}
}

// finish waits, in the background, until the server is installed, and then ends
// it.
func (w *ward) finish(i *install) {
	if i.left {
		return
	}
	i.left = true
	w.finishing.Go(func() {
		i.await(installLimit)
		i.close()
		endMarked(i.mark)
	})
}

// await waits until the server was installed: npx has started it, it answers, or
// nothing is left.
func (i *install) await(limit time.Duration) {
	answers := make(chan struct{})
	if len(i.pipes) == 3 {
		go func() {
			// The broker may have ended in mid-line. What has ended does not read it.
			_, _ = i.pipes[0].WriteString("\n" + `{"jsonrpc":"2.0","id":"guard","method":"ping"}` + "\n")
			if answered(i.pipes[1]) {
				close(answers)
			}
		}()
		go func() { _, _ = io.Copy(io.Discard, i.pipes[2]) }()
	}
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	poll := time.NewTicker(installPoll)
	defer poll.Stop()
	for len(i.processes()) > 0 && !npxRuns(i.mark) {
		select {
		case <-poll.C:
		case <-answers:
			return
		case <-deadline.C:
			return
		}
	}
}

func (i *install) processes() []int {
	return markedProcesses(func(m string) bool { return m == i.mark })
}

// answered reads stdout to the first message of MCP, and reports whether there
// was one.
func answered(stdout io.Reader) bool {
	const sign = `"jsonrpc"`
	var seen []byte
	buf := make([]byte, 4<<10)
	for {
		n, err := stdout.Read(buf)
		seen = append(seen, buf[:n]...)
		if bytes.Contains(seen, []byte(sign)) {
			return true
		}
		if err != nil {
			return false
		}
		seen = append(seen[:0], seen[max(0, len(seen)-len(sign)):]...)
	}
}

// endMarked ends the processes that bear mark and whose stdin is closed, as a
// broker does.
func endMarked(mark string) {
	left := func() []int { return markedProcesses(func(m string) bool { return m == mark }) }
	gone := func(grace time.Duration) bool {
		for waited := time.Duration(0); len(left()) > 0; waited += guardPause {
			if waited >= grace {
				return false
			}
			time.Sleep(guardPause)
		}
		return true
	}
	if gone(stdinGrace) {
		return
	}
	for _, pid := range left() {
		_ = syscall.Kill(pid, syscall.SIGTERM) // gone already: nothing to do
	}
	gone(termGrace)
	killMarked(mark)
}

// guardedOwners are the brokers that have a guard, running or gone.
func guardedOwners() map[string]bool {
	owners := make(map[string]bool)
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // no error: the pattern is right
	for _, path := range paths {
		line, _ := os.ReadFile(path) // it may be gone
		if args := strings.Split(string(line), "\x00"); len(args) > 2 && args[0] == guardName && args[1] == guardVerb {
			owners[args[2]] = true
		}
	}
	return owners
}
