package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// An engine is a container engine that has answered.
type engine struct {
	api     *apiClient
	address string
	seccomp bool   // it filters the system calls of containers; set by describe
	name    string // set by describe
	podman  bool   // set by describe
	// attachesLate is set once the engine refused to attach to a container before its start, and
	// attached to it later.
	attachesLate atomic.Bool
	enforced     atomic.Pointer[enforcedLimits] // nil until the first container is created
}

// pingTimeout bounds the time for an engine to answer.
const pingTimeout = 5 * time.Second

// defaultHosts returns the default addresses of engines on this machine.
func defaultHosts() []string {
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

// addresses returns the possible addresses of an engine. One that the user names is the only one.
func addresses(named Address) (list []Address) {
	if named.Host == "" {
		named = ofEnvironment()
	}
	if named.Host != "" {
		return []Address{named}
	}
	for _, host := range defaultHosts() {
		list = append(list, Address{Host: host})
	}
	return list
}

// A MissingEngine is an ErrNoEngine with the addresses that were tried.
type MissingEngine struct{ Tried []string }

func (e *MissingEngine) Error() string {
	return fmt.Sprintf("%v: start Docker or Podman (podman system service --time=0), or set DOCKER_HOST to its socket; tried %s", ErrNoEngine, strings.Join(e.Tried, ", "))
}

// Is reports whether target is ErrNoEngine.
func (e *MissingEngine) Is(target error) bool { return target == ErrNoEngine }

// connect returns the first engine that answers.
func connect(ctx context.Context, named Address) (*engine, error) {
	if errNone != nil {
		return nil, errNone
	}
	missing := new(MissingEngine)
	home, err := os.UserHomeDir()
	failed := func(a Address, why any) {
		text := fmt.Sprintf("%s (%v)", a.Host, why)
		if err == nil && home != "/" { // models read it
			text = strings.ReplaceAll(text, home, "~")
		}
		missing.Tried = append(missing.Tried, text)
	}
	for _, a := range addresses(named) {
		if err := a.check(); err != nil {
			return nil, err
		}
		if path, ok := strings.CutPrefix(a.Host, "unix://"); ok {
			if _, err := os.Stat(path); err != nil {
				failed(a, "no such socket")
				continue
			}
		}
		e, err := dial(ctx, a)
		if err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		failed(a, err)
	}
	return nil, missing
}

func dial(ctx context.Context, a Address) (*engine, error) {
	api, err := newClient(a)
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
	return &engine{api: api, address: a.Host}, nil
}

// describe asks the engine for its properties.
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

// brief removes from an error of the client what callers know already.
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
