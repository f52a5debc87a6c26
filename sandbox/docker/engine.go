package docker

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/docker/docker/client"
)

// An engine is a container engine that has answered.
type engine struct {
	api     *client.Client
	address string
	seccomp bool   // it filters system calls of containers; set by describe
	name    string // set by describe
	podman  bool   // set by describe
	// attachesLate says that it has refused to attach to a container that was
	// not started, and then done it.
	attachesLate atomic.Bool
	kept         atomic.Pointer[kept] // nil until the first container was made
}

// pingTimeout is how long an engine may take to say that it is there.
const pingTimeout = 5 * time.Second

// addresses are where an engine may be. One that the user names is the only one.
func addresses(named string) []string {
	if named == "" {
		named = os.Getenv("DOCKER_HOST")
	}
	if named != "" {
		return []string{named}
	}
	if runtime.GOOS == "windows" {
		return []string{"npipe:////./pipe/docker_engine", "npipe:////./pipe/podman-machine-default"}
	}
	paths := []string{"/var/run/docker.sock"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		paths = append(paths, filepath.Join(dir, "docker.sock"), filepath.Join(dir, "podman/podman.sock"))
	}
	if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths, filepath.Join(home, ".docker/run/docker.sock"), filepath.Join(home, ".colima/default/docker.sock"))
	}
	paths = append(paths, "/run/podman/podman.sock")
	for i, p := range paths {
		paths[i] = "unix://" + p
	}
	return paths
}

// connect returns the first engine that answers.
func connect(ctx context.Context, named string) (*engine, error) {
	var tried []string
	for _, address := range addresses(named) {
		if path, ok := strings.CutPrefix(address, "unix://"); ok {
			if _, err := os.Stat(path); err != nil {
				tried = append(tried, address+" (no such socket)")
				continue
			}
		}
		e, err := dial(ctx, address)
		if err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		tried = append(tried, fmt.Sprintf("%s (%v)", address, err))
	}
	all := strings.Join(tried, ", ")
	if home, err := os.UserHomeDir(); err == nil && home != "/" { // models read it
		all = strings.ReplaceAll(all, home, "~")
	}
	return nil, fmt.Errorf("%w: start Docker or Podman (podman system service --time=0), or set DOCKER_HOST to its socket; tried %s", ErrNoEngine, all)
}

func dial(ctx context.Context, address string) (*engine, error) {
	opts := []client.Opt{client.WithHost(address), client.WithVersionFromEnv(), client.WithAPIVersionNegotiation(), client.WithTLSClientConfigFromEnv()}
	if u, err := url.Parse(address); err == nil && u.Scheme == "ssh" {
		return nil, fmt.Errorf("ssh is not supported: forward its socket, as in ssh -L /tmp/docker.sock:/var/run/docker.sock %s", u.Host)
	}
	api, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pingTimeout, fmt.Errorf("no answer within %v", pingTimeout))
	defer cancel()
	ping, err := api.Ping(ctx)
	if err != nil {
		api.Close()
		return nil, brief(err)
	}
	if ping.OSType != "" && ping.OSType != "linux" {
		api.Close()
		return nil, fmt.Errorf("it runs containers of %s, and the sandbox needs those of linux", ping.OSType)
	}
	return &engine{api: api, address: address}, nil
}

// describe asks the engine what it contains containers with.
func (e *engine) describe(ctx context.Context) error {
	info, err := e.api.Info(ctx)
	if err != nil {
		return fmt.Errorf("ask the container engine for its version: %w", because(ctx, err))
	}
	about, err := e.api.ServerVersion(ctx)
	if err != nil {
		return fmt.Errorf("ask the container engine for its version: %w", because(ctx, err))
	}
	e.name = "Docker"
	for _, c := range about.Components {
		if strings.HasPrefix(c.Name, "Podman") {
			e.name, e.podman = "Podman", true
		}
	}
	e.name = strings.TrimSpace(e.name + " " + info.ServerVersion)
	for _, s := range info.SecurityOptions {
		if strings.HasPrefix(s, "name=seccomp") && !strings.Contains(s, "profile=unconfined") {
			e.seccomp = true
		}
	}
	return nil
}

// brief is an error of the client without what its users know.
func brief(err error) error {
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	text = strings.TrimSuffix(text, ". Is the docker daemon running?")
	if text == err.Error() {
		return err
	}
	return briefError{text, err}
}

type briefError struct {
	text string
	err  error
}

func (e briefError) Error() string { return e.text }
func (e briefError) Unwrap() error { return e.err }
