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

// output runs a command with the environment of c in dir, and ends it with ctx and
// all that it has started. The error says what it wrote to stderr.
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
		if cause := launch.Cause(strings.Split(said.String(), "\n")); cause != "" {
			err = fmt.Errorf("%w: %s", err, cause)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(command[0]), err)
	}
	return out.String(), nil
}
