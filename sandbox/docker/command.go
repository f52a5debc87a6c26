package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	typec "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
)

const kindCommand = "command"

// command is any program, in an image that contains it.
type command struct{ javaScript }

func (command) name() string { return kindCommand }
func (command) env() []string {
	return []string{"PATH=" + commandPath, "HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8", "TZ=UTC"}
}
func (command) tmpfs() map[string]string { return map[string]string{"/tmp": tmpfsOptions} }
func (command) overhead() int64          { return 0 }

func (command) image(context.Context, *engine, *Options) (string, error) { return "", nil }

const commandPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// commands implements sandbox.Commander.
type commands struct{ r *runner }

// NewCommands returns a Commander that runs each command in a container of its own, under the same
// limits as programs. The image is that of Options; if that is empty, the first of the sandbox's
// own images that the engine has and that may contain the program: node runs in the image of Node,
// python3 and shells in that of Python. It starts nothing before its first use. Close must be
// called.
func NewCommands(opts *Options) sandbox.Commander { return &commands{newRunner(command{}, opts)} }

// Close implements sandbox.Commander.
func (c *commands) Close() error { return c.r.Close() }

// Command implements sandbox.Commander.
func (c *commands) Command(ctx context.Context, cmd sandbox.Command) (int, error) {
	ctx, leave, err := c.r.pool.Enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	if cmd.Timeout <= 0 {
		cmd.Timeout = sandbox.Limits{}.WithDefaults().Timeout
	}
	code, err := c.run(ctx, cmd)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return 0, cause
	}
	return code, err
}

func (c *commands) run(ctx context.Context, cmd sandbox.Command) (int, error) {
	eng, _, err := c.r.prepare(ctx)
	if err != nil {
		return 0, err
	}
	image, err := eng.commandImage(ctx, cmd.Argv[0], cmp.Or(cmd.Image, c.r.opts.Image))
	if err != nil {
		return 0, err
	}
	box, err := c.start(ctx, eng, image, &cmd)
	if err != nil {
		return 0, err
	}
	defer box.removeLater()
	ctx, stop := context.WithTimeoutCause(ctx, cmd.Timeout, sandbox.ErrCommandTimeout)
	defer stop()
	return box.finish(ctx, cmd)
}

// gate delays a command until its host has connected to its streams, for engines that connect them
// only to a running command: the output of a quick command would be lost before that. It reads one
// line of input.
var gate = []string{"sh", "-c", `IFS= read -r line; exec "$@"`, "sh"}

// start creates and starts the container of a command.
func (c *commands) start(ctx context.Context, eng *engine, image string, cmd *sandbox.Command) (*container, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not started after %s", host.Seconds(startTimeout)))
	defer cancel()
	argv, stdin := cmd.Argv, cmd.Stdin
	for {
		late := eng.attachesLate.Load()
		if late {
			cmd.Argv, cmd.Stdin = slices.Concat(gate, argv), "\n"+stdin
		}
		box, err := c.create(ctx, eng, image, *cmd)
		if err != nil {
			return nil, err
		}
		err = box.attach(ctx)
		if err == nil && late == eng.attachesLate.Load() {
			return box, nil
		}
		box.removeLater()
		switch {
		case err == nil: // now it is known how the engine behaves, and the next command is delayed
		case lacksProgram(err):
			return nil, fmt.Errorf("%w: image %s has no %s", sandbox.ErrNoProgram, image, cmd.Argv[0])
		default:
			return nil, fmt.Errorf("start sandbox container from %s: %w", image, because(ctx, err))
		}
	}
}

// commandImage returns the image for a program: the named one, or the first existing one that may
// contain it.
func (e *engine) commandImage(ctx context.Context, program, named string) (string, error) {
	images, hint := imagesFor(program)
	if named != "" {
		images, hint = []string{named}, "the engine does not have it"
	}
	for _, ref := range images {
		if ok, err := e.hasImage(ctx, ref); ok || err != nil {
			return ref, err
		}
	}
	return "", fmt.Errorf("%w of %s (%s): %s", ErrNoImage, path.Base(program), strings.Join(images, ", "), hint)
}

// Programs returns the programs that the sandbox's own images contain.
func Programs() []string { return []string{"python3", "sh", "bash", "node"} }

// imagesFor returns the images that may contain a program, the best one first, and a hint if none
// exists.
func imagesFor(program string) (images []string, hint string) {
	if path.Base(program) == "node" {
		return []string{NodeImage}, "run: broker sandbox build node"
	}
	return []string{PythonImage}, "run: broker sandbox build python"
}

// create creates the container of a command.
func (c *commands) create(ctx context.Context, eng *engine, image string, cmd sandbox.Command) (*container, error) {
	memory := sandbox.Limits{MemoryBytes: cmd.MemoryBytes}.WithDefaults().MemoryBytes
	config, hostConfig := c.r.config(image, memory)
	config.Entrypoint, config.Env, config.WorkingDir = cmd.Argv, append(config.Env, cmd.Env...), cmd.Dir
	if cmd.Dir == "" {
		config.WorkingDir = "/tmp"
	}
	files := c.r.filesOf(cmd.Files)
	id, unfiled, err := c.r.createWith(ctx, eng, config, hostConfig, files)
	if err != nil {
		return nil, err
	}
	box := &container{id: id, eng: eng, r: c.r, files: files}
	if unfiled != nil {
		box.removeLater()
		return nil, fmt.Errorf("hand files to a sandbox container: %w", unfiled)
	}
	return box, nil
}

// lacksProgram reports whether a container did not start because its image does not contain the
// program. Engines have no code for that, so it reads their messages.
func lacksProgram(err error) bool {
	text := err.Error()
	return cerrdefs.IsNotFound(err) || strings.Contains(text, "executable file not found") || strings.Contains(text, "no such file or directory")
}

// finish sends a started command its input, and waits for its end.
func (c *container) finish(ctx context.Context, cmd sandbox.Command) (int, error) {
	unkill := context.AfterFunc(ctx, c.disconnect)
	defer unkill()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(c.conn.Conn, cmd.Stdin) // a command need not read its input
		_ = c.conn.CloseWrite()
	}()
	discard := func(w io.Writer) io.Writer {
		if w == nil {
			return io.Discard
		}
		return w
	}
	_, err := stdcopy.StdCopy(discard(cmd.Stdout), discard(cmd.Stderr), c.conn.Reader)
	if ctx.Err() == nil && err == nil {
		code, waiting := c.exitCode(ctx)
		if waiting == nil {
			c.disconnect()
			<-written
			return code, nil
		}
		err = waiting
	}
	c.disconnect()
	<-written
	if cause := context.Cause(ctx); cause != nil {
		return 0, cause
	}
	return 0, fmt.Errorf("run in a sandbox container: %w", err)
}

// exitCode waits for the end of a container after its streams have ended.
func (c *container) exitCode(ctx context.Context) (int, error) {
	over, failed := c.eng.api.ContainerWait(ctx, c.id, typec.WaitConditionNotRunning)
	select {
	case end := <-over:
		if end.Error != nil {
			return 0, errors.New(end.Error.Message)
		}
		return int(end.StatusCode), nil
	case err := <-failed:
		return 0, brief(err)
	}
}
