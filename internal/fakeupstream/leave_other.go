//go:build !unix

package fakeupstream

import (
	"os"
	"os/exec"
)

// leave starts a child that is not waited for.
func leave(bool) error {
	cmd := exec.Command(Command(), flag, string(sleeper))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Start()
}

func runSleeper() { block() }
