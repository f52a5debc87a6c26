//go:build !linux

package postgrestest

import (
	"errors"
	"os"
	"os/exec"
)

// quit ends a server immediately, like a crash.
var quit = os.Kill

func giveToServer(string) error { return nil }

func asUser(*exec.Cmd) {}

func pause(int) (func() error, error) { return nil, errors.ErrUnsupported }
