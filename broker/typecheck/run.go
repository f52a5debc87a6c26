package typecheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// maxOutput is how much of what the compiler prints is read.
const maxOutput = 1 << 20

// launcher0 and launcher1 are the arguments that make a process a launcher.
// No user types the first.
const (
	launcher0 = "broker-typecheck"
	launcher1 = "typecheck-launcher"
)

// A job is what a launcher has to do.
type job struct {
	Compiler string   `json:"compiler"`
	Args     []string `json:"args"`
	// Read are the directories that it may read: the scratch tree and the
	// compiler's own.
	Read        []string      `json:"read"`
	MemoryBytes int64         `json:"memory_bytes"`
	CPU         time.Duration `json:"cpu_ns"`
}

// IsLauncher reports whether this process was started to become a compiler. Then
// its main must do nothing but call Launch.
func IsLauncher() bool {
	return len(os.Args) == 3 && os.Args[0] == launcher0 && os.Args[1] == launcher1
}

// Launch takes from this process what a compiler does not need, and becomes the
// compiler. It does not return.
func Launch() {
	var j job
	err := json.Unmarshal([]byte(os.Args[2]), &j)
	if err == nil {
		err = become(j)
	}
	fmt.Fprintln(os.Stderr, "launch compiler:", err)
	os.Exit(125)
}

// run runs the compiler in dir and returns its output. Errors that the compiler
// finds, and reports with its exit code, are not an error.
func (c *Checker) run(ctx context.Context, compiler Compiler, dir string, args ...string) ([]byte, error) {
	cmd, err := command(ctx, c.o.Launcher, job{Compiler: compiler.Path, Args: args, Read: []string{dir, filepath.Dir(compiler.Path)},
		MemoryBytes: c.o.MemoryBytes, CPU: 2 * c.o.Timeout})
	if err != nil {
		return nil, err
	}
	cmd.Dir = dir
	cmd.Env = []string{} // not this process's
	cmd.WaitDelay = time.Second
	var out, stderr limited
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err = spawn.Start(cmd); err == nil {
		err = cmd.Wait()
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
	case !ended:
		return nil, err
	case (exit.ExitCode() == 1 || exit.ExitCode() == 2) && out.Len() > 0 && stderr.Len() == 0: // it found errors
	default:
		why := exit.String()
		if said := firstLine(stderr.String()); said != "" {
			why += ": " + said
		}
		c.o.Logger.Warn("TypeScript compiler failed", "compiler", compiler.Path, "err", why)
		return nil, fmt.Errorf("%s ended: %s", filepath.Base(compiler.Path), why)
	}
	return out.Bytes(), nil
}

// A limited buffer keeps the first maxOutput bytes and discards the others.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxOutput - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
