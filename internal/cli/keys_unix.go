//go:build linux || darwin

package cli

import (
	"context"
	"sync"

	"golang.org/x/sys/unix"
)

// anyKey returns a channel that is closed when a key is pressed at the terminal, and a
// function that restores the terminal. The caller must call it; that also happens when
// ctx is done. Without a terminal, or in its background, the channel is nil.
func (t *IO) anyKey(ctx context.Context) (pressed <-chan struct{}, release func()) {
	in := t.Interactive()
	if in == nil {
		return nil, func() {}
	}
	fd := int(in.Fd())
	if front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || front != unix.Getpgrp() {
		return nil, func() {} // changing the terminal would stop this process
	}
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, func() {}
	}
	keys := *before
	keys.Lflag &^= unix.ICANON | unix.ECHO // keep ISIG: Ctrl-C interrupts
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME] = 0, 1
	if err := unix.IoctlSetTermios(fd, setTermios, &keys); err != nil {
		return nil, func() {}
	}
	key, over, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		defer func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }() // an error here has no remedy
		for {
			select {
			case <-over:
				return
			case <-ctx.Done():
				return
			default:
			}
			var b [64]byte
			switch n, err := unix.Read(fd, b[:]); {
			case n > 0 && isKey(b[:n]):
				close(key)
				return
			case n <= 0 && err != nil && err != unix.EINTR && err != unix.EAGAIN:
				return
			}
		}
	}()
	return key, sync.OnceFunc(func() { close(over); <-gone })
}

// isKey reports whether input of a terminal is a key press, and not the end of the
// input or a report of the terminal, which begins with an escape as arrow keys do.
func isKey(sent []byte) bool {
	const endOfInput, escape = 4, 27 // 0 if the input ended before the terminal was changed
	return sent[0] != endOfInput && sent[0] != 0 && (sent[0] != escape || len(sent) == 1)
}
