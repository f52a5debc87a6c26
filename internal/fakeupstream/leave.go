package fakeupstream

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// leave starts a child that ignores signals, and does not wait for it.
func leave(ownSession bool) error {
	cmd := exec.Command(Command(), flag, string(sleeper))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // keeps the pipes open
	if ownSession {
		spawn.Session(cmd)
	}
	return cmd.Start()
}

func runSleeper() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	block()
}
