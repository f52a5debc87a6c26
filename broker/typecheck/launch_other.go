//go:build !linux

package typecheck

import (
	"context"
	"errors"
	"os/exec"
)

// become is only called in a launcher, which does not exist here.
func become(job) error { return errors.New("only Linux has a launcher") }

// command is the compiler itself: only Linux has limits that a process can give
// itself before it becomes another.
func command(ctx context.Context, _ string, j job) (*exec.Cmd, error) {
	return exec.CommandContext(ctx, j.Compiler, j.Args...), nil
}
