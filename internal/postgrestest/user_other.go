//go:build !linux

package postgrestest

import (
	"os"
	"os/exec"
)

// quit makes a server end at once, as after a crash.
var quit = os.Kill

func own(string) error { return nil }

func asUser(*exec.Cmd) {}
