package launch

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Command starts a server.
type Command struct {
	Program string
	Args    []string
	Env     []string // the whole environment, see Environment
	Dir     string   // empty means this process's own
}

// find returns the path of the program.
func (c Command) find() (string, error) {
	path, err := LookPath(c.Program, c.Dir, c.Env)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("command %q not found in PATH: %w", c.Program, exec.ErrNotFound)
	}
	if err != nil {
		return "", fmt.Errorf("start command %q: %w", c.Program, err)
	}
	return path, nil
}

// packageRunners may download a server before they start it.
var packageRunners = []string{"npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "deno", "uvx", "uv", "pipx", "docker", "podman"}

// wrappers run the command that is among their arguments.
var wrappers = []string{"sh", "bash", "zsh", "dash", "cmd", "powershell", "pwsh", "env", "nice", "wsl", "mise", "volta", "direnv"}

// Runner returns the name of the package runner that a command starts, such as npx, directly
// or through a wrapper such as a shell, or "". A package runner may download the server
// before it starts it.
func Runner(program string, args []string) string {
	name := commandName(program)
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
