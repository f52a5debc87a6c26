package main

import "golang.org/x/sys/unix"

// What reads and sets the terminal.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)
