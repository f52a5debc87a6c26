package cli

import "golang.org/x/sys/unix"

// Requests that get and set the state of a terminal.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
