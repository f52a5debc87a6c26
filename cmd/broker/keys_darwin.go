package main

import "golang.org/x/sys/unix"

// What reads and sets the terminal.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
