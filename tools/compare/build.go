package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// The number of servers, and of tools of each: 1,004 in all.
const (
	servers = 4
	tools   = 251
)

// A build is one of the two brokers that are compared.
type build struct {
	program string
	config  string // four servers
	state   string // a state directory with their listings
	scratch string
	rest    time.Duration // how long its memory is measured after the last request; 0 for not at all
}

// open finds or builds a broker, and lists the servers once.
func open(ctx context.Context, name, dir string) (*build, error) {
	b := &build{program: filepath.Join(name, "broker"), config: filepath.Join(dir, "servers.json"), state: filepath.Join(dir, "state"), scratch: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if _, err := os.Stat(b.program); err != nil || name == "." {
		programs := filepath.Join(dir, "programs")
		if err := compile(ctx, name, programs, filepath.Join(dir, "source")); err != nil {
			return nil, err
		}
		b.program = filepath.Join(programs, "broker")
	}
	var err error
	if b.program, err = filepath.Abs(b.program); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	list := map[string]any{}
	for i := range servers {
		list[fmt.Sprintf("server%d", i)] = map[string]any{"command": self, "args": []string{upstreamArg, fmt.Sprint(i), fmt.Sprint(tools)}}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": list})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(b.config, text, 0o600); err != nil {
		return nil, err
	}
	if out, err := b.command(ctx, b.state, "index").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("index: %w\n%s", err, out)
	}
	return b, nil
}

// compile builds the programs of a revision, or of the working tree for ".", without
// cgo, as releases are built: a dynamic linker makes each start slower.
func compile(ctx context.Context, revision, programs, source string) error {
	root, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if revision != "." {
		if _, err := output(ctx, root, "git", "worktree", "add", "--detach", source, revision); err != nil {
			return err
		}
		defer func() {
			_, _ = output(context.WithoutCancel(ctx), root, "git", "worktree", "remove", "--force", source)
		}()
		root = source
	}
	packages := []string{"./cmd/broker"}
	if _, err := os.Stat(filepath.Join(root, "cmd", "broker-worker")); err == nil {
		packages = append(packages, "./cmd/broker-worker") // older revisions have one program
	}
	args := append([]string{"build", "-ldflags=-s -w", "-o", programs + "/"}, packages...)
	if err := os.MkdirAll(programs, 0o700); err != nil {
		return err
	}
	_, err = output(ctx, root, "go", args...)
	return err
}

// unlike returns how two programs were built differently where that changes what is
// measured, or "".
func unlike(a, b *debug.BuildInfo) string {
	var list []string
	for _, key := range []string{"CGO_ENABLED", "-race", "-gcflags", "GOARCH", "GOAMD64", "GOEXPERIMENT"} {
		if x, y := setting(a, key), setting(b, key); x != y {
			list = append(list, fmt.Sprintf("%s is %q and %q", key, x, y))
		}
	}
	return strings.Join(list, ", ")
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// command returns a command of the broker that shares nothing with other brokers of
// this user.
func (b *build) command(ctx context.Context, state string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.program, append(args, "--config", b.config, "--state-dir", state)...)
	cmd.Dir = b.scratch
	cmd.Env = append(os.Environ(), "BROKER_DAEMON=off", "XDG_CONFIG_HOME="+b.scratch, "XDG_STATE_HOME="+b.scratch, "XDG_CACHE_HOME="+b.scratch)
	return cmd
}
