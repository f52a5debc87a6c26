package sandbox

import (
	"context"
	"errors"
	"io"
	"time"
)

// A Commander runs programs other than scripts for a Runner: commands with arguments,
// each in its own sandbox, which is removed with everything that it wrote. Command must
// be safe for concurrent use, and must leave no process behind.
type Commander interface {
	// Command returns when the command has ended, its time is up or ctx is done. An
	// error means that it did not run to its end: ErrNoProgram if the program does not
	// exist, context.Cause of ctx, or ErrCommandTimeout.
	Command(ctx context.Context, c Command) (exitCode int, err error)
	// Close ends the commands that are running.
	Close() error
}

// ErrNoProgram means that the sandbox does not have the program of a command.
var ErrNoProgram = errors.New("no such program")

// ErrCommandTimeout means that the time of a command was up, and that it was
// killed with all that it had started.
var ErrCommandTimeout = errors.New("time limit reached")

// A Command is one program to run.
type Command struct {
	// Argv is the program and its arguments. Nothing expands them.
	Argv []string
	// Image is the image that it runs in, where a sandbox has images; empty means
	// one that suits it.
	Image string
	// Env are its variables, as NAME=value, besides PATH and HOME.
	Env []string
	// Dir is the folder that it starts in; empty means /tmp, which it may write
	// to.
	Dir string
	// Stdin is what it reads there.
	Stdin string
	// Stdout and Stderr receive what it writes; nil discards.
	Stdout, Stderr io.Writer
	// Files are what it finds in its file system.
	Files *Files
	// Timeout is how long it may run; zero means 30 s.
	Timeout time.Duration
	// MemoryBytes is what it may use; zero means the default of Limits.
	MemoryBytes int64
}
