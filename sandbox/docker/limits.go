package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"

	typec "github.com/docker/docker/api/types/container"
)

// enforcedLimits says which limits of containers an engine keeps. Rootless engines without
// control groups of version 2 take all of them and keep none, and say so nowhere
// but in what they have noted of a container.
type enforcedLimits struct{ memory, processes bool }

// create makes a container. It does not stop when ctx is done: the engine would still
// make the container, and its id would be lost.
func (e *engine) create(ctx context.Context, config *typec.Config, host *typec.HostConfig) (id string, err error) {
	making, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	known := e.enforced.Load()
	host = e.sealed(host)
	id, err = e.make(making, config, known.instead(host))
	if err != nil || known != nil || host.Memory == 0 {
		return id, err
	}
	found, err := e.look(making, id, host)
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
	return e.make(making, config, found.instead(host))
}

// sealed returns host without the places that Podman makes writable and executable in
// containers with a read-only root. It does not change existing mounts.
func (e *engine) sealed(host *typec.HostConfig) *typec.HostConfig {
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

// look compares what the engine has noted of a container with what it was asked
// for.
func (e *engine) look(ctx context.Context, id string, asked *typec.HostConfig) (*enforcedLimits, error) {
	info, err := e.api.ContainerInspect(ctx, id)
	if err != nil {
		return nil, err
	}
	k := enforcedLimits{memory: info.HostConfig.Memory == asked.Memory}
	k.processes = asked.PidsLimit == nil || info.HostConfig.PidsLimit != nil && *info.HostConfig.PidsLimit == *asked.PidsLimit
	return &k, nil
}

// all says whether all limits are kept, which is believed of an engine that was
// not looked at.
func (k *enforcedLimits) all() bool { return k == nil || k.memory && k.processes }

// What each process is limited to where the container is not. It is wider: what
// counts here is what a process could write to, threads' stacks among it, and all
// processes of that user on the machine.
const (
	dataMargin   = 128 << 20
	maxOwnedWeak = 256
)

// instead is host with limits of each process in place of those of the container
// that are not kept.
func (k *enforcedLimits) instead(host *typec.HostConfig) *typec.HostConfig {
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

// noControl is what becomes of a limit that is not kept.
const noControl = "the engine does not limit containers here, only each process: rootless engines need control groups of version 2"
