package upstream

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxInstalls is how many servers that a package runner may have to download
	// are started at once. Two dozen at the same time take each other's network
	// and processor until none is ready in time, and an installation that is cut
	// short stays damaged.
	maxInstalls = 4

	// installTurn is how long one may hold its place: a server that hangs delays
	// the others by no more, and itself is waited for as long as ever.
	installTurn = 30 * time.Second
)

// queueInstall waits for a place if s is started by a package runner and was
// never listed, so that it may have to be downloaded. The start timeout begins
// after it. The function it returns gives the place back.
func (p *Pool) queueInstall(ctx context.Context, s *server) (leave func()) {
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	if known || !mayInstall(s.cfg.Command, s.cfg.Args) {
		return func() {}
	}
	select {
	case p.installing <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	give := sync.OnceFunc(func() { <-p.installing })
	turn := time.AfterFunc(installTurn, give)
	return func() { turn.Stop(); give() }
}

// awaitInstall waits while an earlier attempt, or the guard of an earlier broker,
// still installs what t starts: two npx at once are in each other's way.
func (d *dialer) awaitInstall(ctx context.Context, t *target) error {
	if !mayInstall(t.command, t.args) {
		return nil
	}
	if d.left != nil {
		select {
		case <-d.left.exited:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for id := t.installID(); finishing(id); {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// packageRunners may download a server before they start it.
var packageRunners = []string{"npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "deno", "uvx", "uv", "pipx", "docker", "podman"}

// wrappers run the command that is among their arguments.
var wrappers = []string{"sh", "bash", "zsh", "dash", "cmd", "powershell", "pwsh", "env", "nice", "wsl", "mise", "volta", "direnv"}

// mayInstall reports whether a command may download a server before it starts it.
func mayInstall(command string, args []string) bool { return runnerIn(command, args) != "" }

// runnerIn is the package runner in a command, also behind a shell, or "".
func runnerIn(command string, args []string) string {
	name := commandName(command)
	if slices.Contains(packageRunners, name) {
		return name
	}
	if !slices.Contains(wrappers, name) {
		return ""
	}
	for word := range strings.FieldsSeq(strings.Join(args, " ")) {
		if name := commandName(word); slices.Contains(packageRunners, name) {
			return name
		}
	}
	return ""
}

// commandName is what a command is called, without its folder and ending.
func commandName(command string) string {
	base := strings.ToLower(filepath.Base(command))
	return strings.TrimSuffix(strings.TrimSuffix(base, ".cmd"), ".exe")
}
