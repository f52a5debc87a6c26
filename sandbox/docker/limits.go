package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"

	typec "github.com/docker/docker/api/types/container"
)

// enforcedLimits are the limits of containers that an engine enforces. Rootless engines without
// control groups of version 2 accept all limits and enforce none; only the state of a container
// shows that.
type enforcedLimits struct{ memory, processes bool }

// create makes a container. It does not stop when ctx is done: the engine would still
// make the container, and its id would be lost.
func (e *engine) create(ctx context.Context, config *typec.Config, host *typec.HostConfig) (id string, err error) {
	making, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	known := e.enforced.Load()
	host = e.readOnlyDirs(host)
	id, err = e.make(making, config, known.perProcess(host))
	if err != nil || known != nil || host.Memory == 0 {
		return id, err
	}
	found, err := e.inspect(making, id, host)
	if err == nil {
		e.enforced.Store(found)
		if found.all() {
			return id, nil
		}
	}
	if removing := e.removeContainer(id); err == nil {
		err = removing
	}
	if err != nil {
		return "", fmt.Errorf("create sandbox container: %w", brief(err))
	}
	return e.make(making, config, found.perProcess(host))
}

// readOnlyDirs returns host without the directories that Podman makes writable and executable in
// containers with a read-only root. It does not change existing mounts.
func (e *engine) readOnlyDirs(host *typec.HostConfig) *typec.HostConfig {
	if !e.podman || !host.ReadonlyRootfs {
		return host
	}
	tight := *host
	tight.Tmpfs = maps.Clone(host.Tmpfs)
	if tight.Tmpfs == nil {
		tight.Tmpfs = map[string]string{}
	}
	for _, dir := range []string{"/tmp", "/var/tmp", "/run"} {
		if tight.Tmpfs[dir] == "" {
			tight.Tmpfs[dir] = "ro,noexec,nosuid,nodev,size=4k"
		}
	}
	return &tight
}

func (e *engine) make(ctx context.Context, config *typec.Config, host *typec.HostConfig) (id string, err error) {
	made, err := e.api.ContainerCreate(ctx, config, host, nil, nil, "")
	if err != nil {
		return "", fmt.Errorf("create sandbox container: %w", brief(err))
	}
	return made.ID, nil
}

// inspect compares the limits in the state of a container with the requested ones.
func (e *engine) inspect(ctx context.Context, id string, asked *typec.HostConfig) (*enforcedLimits, error) {
	info, err := e.api.ContainerInspect(ctx, id)
	if err != nil {
		return nil, err
	}
	k := enforcedLimits{memory: info.HostConfig.Memory == asked.Memory}
	k.processes = asked.PidsLimit == nil || info.HostConfig.PidsLimit != nil && *info.HostConfig.PidsLimit == *asked.PidsLimit
	return &k, nil
}

// all reports whether all limits are enforced, which is assumed if the engine was not inspected.
func (k *enforcedLimits) all() bool { return k == nil || k.memory && k.processes }

// Limits of each process for engines that do not limit the container. They are wider: they count
// everything that a process could write to, including the stacks of threads, and all processes of
// that user on the machine.
const (
	dataMargin   = 128 << 20
	maxOwnedWeak = 256
)

// perProcess returns host with limits of each process in place of those of the container that are
// not enforced.
func (k *enforcedLimits) perProcess(host *typec.HostConfig) *typec.HostConfig {
	if k.all() || host.Memory == 0 {
		return host
	}
	weak := *host
	weak.Ulimits = slices.Clone(host.Ulimits)
	if !k.memory {
		data := host.Memory + dataMargin
		weak.Ulimits = append(weak.Ulimits, &typec.Ulimit{Name: "data", Soft: data, Hard: data})
	}
	for i, u := range weak.Ulimits {
		if u.Name == "nproc" && !k.processes {
			weak.Ulimits[i] = &typec.Ulimit{Name: u.Name, Soft: maxOwnedWeak, Hard: maxOwnedWeak}
		}
	}
	return &weak
}

// limitNotEnforced describes a limit that is not enforced.
const limitNotEnforced = "the engine does not limit containers here, only each process: rootless engines need control groups of version 2"
