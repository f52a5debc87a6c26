package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	typec "github.com/docker/docker/api/types/container"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// Limits of a container in addition to those of the run.
const (
	maxProcesses = 64  // of one container, including threads
	maxFiles     = 256 // of one process
	maxOwned     = 4096
	processors   = 1e9 // in billionths
	user         = "65534:65534"
	tmpfsOptions = "rw,noexec,nosuid,nodev,size=32m,mode=1777"
	shmBytes     = 64 << 10
)

const (
	// startTimeout bounds the start of a container. It takes a fraction of a second, except on
	// very busy machines.
	startTimeout = 60 * time.Second
	// removeTimeout bounds the removal of a container.
	removeTimeout = 60 * time.Second
	// removeAgain is the first delay before a failed removal is repeated, and removePatience the
	// time after which it is given up.
	removeAgain    = 5 * time.Millisecond
	removePatience = 10 * time.Second
	// askTimeout bounds the request for the state of an ended container.
	askTimeout = 5 * time.Second
)

// A container is started, and waits for its program.
type container struct {
	id     string
	eng    *engine
	r      *runner
	conn   types.HijackedResponse
	out    *demux
	reader *wire.Reader
	writer *wire.Writer
	layers []sandbox.Layer

	files    fileSet
	filesErr error // the reason it lacks its files
}

// startContainer creates a container and waits until it is ready, or ctx is done.
func (r *runner) startContainer(ctx context.Context, want startOptions) (*container, error) {
	memory := want.memory
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", host.Seconds(startTimeout)))
	defer cancel()
	c, image, err := r.create(ctx, want)
	if cerrdefs.IsNotFound(err) {
		r.forgetImage() // it has been removed
		c, image, err = r.create(ctx, want)
	}
	if err != nil {
		return nil, err
	}
	if err = c.attach(ctx); err == nil {
		err = c.greet(ctx, memory)
	}
	if err != nil {
		err = fmt.Errorf("start sandbox container from %s: %w%s", image, because(ctx, err), c.lastWords())
		c.remove()
		return nil, err
	}
	c.layers = append(r.engineLayers(c.eng, memory), c.layers...)
	if err := sandbox.RequireLayers(c.layers, r.opts.Require); err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

// create creates a container, and returns it with its image.
func (r *runner) create(ctx context.Context, want startOptions) (*container, string, error) {
	eng, image, err := r.prepare(ctx)
	if err != nil {
		return nil, "", err
	}
	config, hostConfig := r.config(image, want.memory)
	id, unfiled, err := r.createWith(ctx, eng, config, hostConfig, want.files)
	if err != nil {
		return nil, "", err
	}
	if unfiled != nil {
		r.log.Warn("hand files to a sandbox container", "err", unfiled)
	}
	return &container{id: id, eng: eng, r: r, files: want.files, filesErr: unfiled}, image, nil
}

// because returns the cause of the context if err results from it, otherwise err.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return brief(err)
}

// config returns the configuration of a container.
func (r *runner) config(image string, memory int64) (*typec.Config, *typec.HostConfig) {
	config := &typec.Config{
		Image: image, User: user, Hostname: "sandbox", WorkingDir: "/",
		// Replace the entry point, so that the image's has no effect.
		Entrypoint: r.kind.command(memory), Env: r.kind.env(),
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		NetworkDisabled: true,
		Healthcheck:     &typec.HealthConfig{Test: []string{"NONE"}},
		Labels:          map[string]string{labelKind: r.kind.name(), labelOwner: owner()},
	}
	total, pids := memory+r.kind.overhead(), int64(maxProcesses)
	hostConfig := &typec.HostConfig{
		NetworkMode: "none", IpcMode: "private", ReadonlyRootfs: true,
		CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
		LogConfig: typec.LogConfig{Type: "none"}, ShmSize: shmBytes, Tmpfs: r.kind.tmpfs(),
		Resources: typec.Resources{
			Memory: total, MemorySwap: total, NanoCPUs: processors, PidsLimit: &pids,
			// Rootless Podman needs an explicit number of processes.
			Ulimits: []*typec.Ulimit{
				{Name: "nofile", Soft: maxFiles, Hard: maxFiles}, {Name: "core"}, {Name: "nproc", Soft: maxOwned, Hard: maxOwned},
			},
		},
	}
	return config, hostConfig
}

// attach connects the container's streams and starts it. It connects them first, so that nothing
// is lost. If an engine refuses that, or cannot even prepare the container, attach starts it
// anyway; the engine then does so, or reports the reason. The runner inside waits for its host, so
// that the streams can be connected after the start as well.
func (c *container) attach(ctx context.Context) error {
	opts := typec.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true}
	conn, err := types.HijackedResponse{}, error(nil)
	late := c.eng.attachesLate.Load()
	if !late {
		if conn, err = c.eng.api.ContainerAttach(ctx, c.id, opts); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("attach: %w", brief(err))
			}
			late = true
		}
	}
	if err := c.eng.api.ContainerStart(ctx, c.id, typec.StartOptions{}); err != nil {
		if !late {
			conn.Close()
		}
		return fmt.Errorf("start: %w", brief(err))
	}
	if late {
		if conn, err = c.eng.api.ContainerAttach(ctx, c.id, opts); err != nil {
			return fmt.Errorf("attach: %w", brief(err))
		}
		c.eng.attachesLate.Store(true)
	}
	c.conn = conn
	c.out = &demux{r: conn.Reader}
	c.reader = wire.NewReader(c.out, wire.Slack)
	c.writer = wire.NewWriter(conn.Conn)
	return nil
}

// greet waits until the runner is ready.
func (c *container) greet(ctx context.Context, memory int64) (err error) {
	defer context.AfterFunc(ctx, c.disconnect)()
	c.layers, err = host.Greet(c.reader, c.writer, wire.Hello{Version: wire.Version, MemoryBytes: memory, Warm: true})
	return err
}

// lastWords returns the output of a container that did not become ready, for an error.
func (c *container) lastWords() string {
	if c.out == nil {
		return ""
	}
	if said := host.CrashReason(c.out.crash.String()); said != "" {
		return " (it said: " + said + ")"
	}
	return ""
}

// disconnect closes the connection, and thereby ends everything that blocks on it. It may be
// called at any time by any goroutine. The runner inside ends with its input.
func (c *container) disconnect() {
	if c.conn.Conn != nil {
		c.conn.Close()
	}
}

// remove kills the container and waits until it is gone.
func (c *container) remove() {
	c.disconnect()
	if err := c.eng.removeContainer(c.id); err != nil {
		c.r.log.Warn("remove sandbox container", "container", c.id, "err", err)
	}
}

// removeLater kills the container in the background. The caller must have acquired the runner's
// pool.
func (c *container) removeLater() { c.r.pool.Go(func(context.Context) { c.remove() }) }

// removeContainer kills and removes a container, and returns when it is gone. It has no
// time limit: a remaining container is worse than a slow end.
//
// An engine that is busy with the container refuses: Docker while it is being removed,
// Podman at the moment of its end, such as just after its streams were cut. Both accept
// the removal, or no longer know the container, soon after.
func (e *engine) removeContainer(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	refused := time.Now().Add(removePatience)
	for wait := removeAgain; ; wait *= 2 {
		err := e.api.ContainerRemove(ctx, id, typec.RemoveOptions{Force: true, RemoveVolumes: true})
		if err == nil || cerrdefs.IsNotFound(err) {
			return nil
		}
		if ctx.Err() != nil || connectionFailed(err) || time.Now().Add(wait).After(refused) {
			return brief(err)
		}
		<-time.After(wait)
	}
}

// cpuTime returns the processor time of the container, or a negative duration if the engine does
// not report it.
func (c *container) cpuTime() time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	answer, err := c.eng.api.ContainerStatsOneShot(ctx, c.id)
	if err != nil {
		return -1
	}
	defer answer.Body.Close()
	var stats typec.StatsResponse
	if json.NewDecoder(answer.Body).Decode(&stats) != nil || stats.CPUStats.CPUUsage.TotalUsage == 0 {
		return -1
	}
	return time.Duration(stats.CPUStats.CPUUsage.TotalUsage)
}

// state returns the final state of a container after its streams have ended.
func (c *container) state() (*typec.State, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	over, failed := c.eng.api.ContainerWait(ctx, c.id, typec.WaitConditionNotRunning)
	select {
	case <-over:
	case err := <-failed:
		return nil, brief(err)
	}
	info, err := c.eng.api.ContainerInspect(ctx, c.id)
	if err != nil {
		return nil, brief(err)
	}
	return info.State, nil
}
