package packages

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/lines"
	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// maxOutput is how much a package manager may print.
const maxOutput = 1 << 20

// A bounded writer keeps the beginning.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	b.Builder.Write(p[:min(len(p), maxOutput-b.Len())])
	return len(p), nil
}

// A CommandError means that a package manager ended with an error.
type CommandError struct {
	Said launch.Failure // from its output
	Err  error
}

// Error returns how the command ended and why.
func (e *CommandError) Error() string {
	if e.Said.Cause == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v: %s", e.Err, e.Said.Cause)
}

// Unwrap returns the cause.
func (e *CommandError) Unwrap() error { return e.Err }

// output runs a command with the environment of c in dir, and ends it and its
// descendants when ctx is done. The error contains its stderr.
func output(ctx context.Context, c launch.Command, dir string, command []string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, c.Env, time.Second
	var out, said bounded
	cmd.Stdout, cmd.Stderr = &out, &said
	spawn.Group(cmd)
	if err := spawn.Start(cmd); err != nil {
		return "", err
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		ring := lines.NewRing()
		ring.CopyFrom(strings.NewReader(said.String()))
		err = &CommandError{Said: launch.Explain(ring.Lines(), nil), Err: err}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(command[0]), err)
	}
	return out.String(), nil
}
