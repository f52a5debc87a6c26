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

// Limits of a container besides those of the run.
const (
	maxProcesses = 64  // of one container, threads among them
	maxFiles     = 256 // of one process
	maxOwned     = 4096
	processors   = 1e9 // in billionths
	user         = "65534:65534"
	tmpfsOptions = "rw,noexec,nosuid,nodev,size=32m,mode=1777"
	shmBytes     = 64 << 10
)

const (
	// startTimeout is how long a container may take until it is ready. It takes
	// a fraction of a second; the rest is for machines that are very busy.
	startTimeout = 60 * time.Second
	// removeTimeout is how long the engine may take to remove one.
	removeTimeout = 60 * time.Second
	// removeAgain is when an engine that refused to is asked again, the first
	// time, and removePatience how long one may refuse.
	removeAgain    = 5 * time.Millisecond
	removePatience = 10 * time.Second
	// askTimeout is how long the engine may take to tell how one ended.
	askTimeout = 5 * time.Second
)

// A container has been started, and waits for its one program.
type container struct {
	id     string
	eng    *engine
	r      *runner
	conn   types.HijackedResponse
	out    *demux
	reader *wire.Reader
	writer *wire.Writer
	layers []sandbox.Layer

	files   fileSet
	unfiled error // why it lacks its files
}

// startContainer makes a container and waits until it is ready. It gives up when
// ctx is done.
func (r *runner) startContainer(ctx context.Context, want startOptions) (*container, error) {
	memory := want.memory
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready after %s", host.Seconds(startTimeout)))
	defer cancel()
	c, image, err := r.create(ctx, want)
	if cerrdefs.IsNotFound(err) {
		r.forgetImage() // somebody has removed it
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

// create makes a container from the image that it returns too.
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
	return &container{id: id, eng: eng, r: r, files: want.files, unfiled: unfiled}, image, nil
}

// because is why something failed: the context's cause, if that is why.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return brief(err)
}

// config is what the engine is asked for.
func (r *runner) config(image string, memory int64) (*typec.Config, *typec.HostConfig) {
	config := &typec.Config{
		Image: image, User: user, Hostname: "sandbox", WorkingDir: "/",
		// Not as its command, so that an entry point of the image plays no part.
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
			// Podman without rights of root wants to be told the number of processes.
			Ulimits: []*typec.Ulimit{
				{Name: "nofile", Soft: maxFiles, Hard: maxFiles}, {Name: "core"}, {Name: "nproc", Soft: maxOwned, Hard: maxOwned},
			},
		},
	}
	return config, hostConfig
}

// attach connects the container's streams and starts it. They are connected
// first, so that nothing is missed. An engine that refuses that, or cannot even
// prepare the container then, is asked to start it all the same: it does, or says
// why not. The runner inside waits for its host to speak, so that the streams can
// be connected after the start as well.
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

// lastWords is what a container that did not get ready said, for an error.
func (c *container) lastWords() string {
	if c.out == nil {
		return ""
	}
	if said := host.CrashReason(c.out.crash.String()); said != "" {
		return " (it said: " + said + ")"
	}
	return ""
}

// disconnect ends the connection, and with it what blocks on it. It may be called at
// any time and from anywhere. The runner inside ends with its input.
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

// removeLater kills the container in the background. The caller has entered the
// runner's pool.
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

// cpuTime is how much processor time the container has used, negative if the
// engine does not say.
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

// state returns how a container ended after the end of its streams.
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
