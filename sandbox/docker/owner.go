package docker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	typec "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// Labels of containers and images. Every container of a sandbox has both, every image the first.
const (
	labelKind  = "mcpbroker.sandbox"
	labelOwner = "mcpbroker.owner" // see owner
)

// owner identifies the process that a container belongs to: its machine, its process id, and its
// start time.
var owner = sync.OnceValue(func() string {
	return fmt.Sprintf("%s/%d/%s", machine(), os.Getpid(), spawn.StartTime(os.Getpid()))
})

// machine identifies the scope of process ids: this boot of this machine, and the container that
// the broker may run in.
var machine = sync.OnceValue(func() string {
	name, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", name, boot, spawn.PIDNamespace()))
	return fmt.Sprintf("%x", sum[:8])
})

// orphan reports whether the owner of a container is gone. For an owner on another machine it only
// reports ended containers: an engine may serve many machines.
func orphan(label string, ended bool) bool {
	parts := strings.Split(label, "/")
	if len(parts) != 3 || parts[0] != machine() {
		return ended
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return ended
	}
	if pid == os.Getpid() {
		return label != owner()
	}
	if start := spawn.StartTime(pid); start != "" {
		return start != parts[2]
	}
	return !exists(pid)
}

// exists reports whether a process exists, including processes of other users that /proc hides.
func exists(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	if runtime.GOOS == "windows" {
		return true
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

// sweep removes the containers of dead brokers, and returns their number.
func (e *engine) sweep(ctx context.Context, log *slog.Logger) (removed int) {
	list, err := e.containers(ctx)
	if err != nil {
		if ctx.Err() == nil {
			log.Warn("look for containers left behind", "err", err)
		}
		return 0
	}
	for _, c := range list {
		ended := c.State == "exited" || c.State == "dead"
		if ctx.Err() != nil || !orphan(c.Labels[labelOwner], ended) {
			continue
		}
		if err := e.removeContainer(c.ID); err != nil {
			log.Warn("remove container left behind", "container", c.ID, "err", err)
			continue
		}
		removed++
	}
	return removed
}

// containers returns all containers of sandboxes.
func (e *engine) containers(ctx context.Context) ([]typec.Summary, error) {
	list, err := e.api.ContainerList(ctx, typec.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelKind))})
	if err != nil {
		return nil, brief(err)
	}
	return list, nil
}
