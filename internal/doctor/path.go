package doctor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// desktopPath returns the PATH of programs started from a desktop, without the start-up
// files of a shell.
func desktopPath(goos string) []string {
	switch goos {
	case "darwin":
		return []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"}
	case "windows":
		return nil // one PATH for all
	}
	return []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/games", "/usr/games", "/snap/bin"}
}

// pathNote warns that a client that is started from the desktop may not find a server's
// command that is found here. It is empty without that danger.
func pathNote(command, goos string, lookPath func(string) (string, error)) string {
	standard := desktopPath(goos)
	if command == "" || strings.ContainsAny(command, `/\`) || standard == nil {
		return ""
	}
	path, err := lookPath(command)
	if err != nil || slices.Contains(standard, filepath.Dir(path)) {
		return ""
	}
	return fmt.Sprintf("%s is found here but may not be by a client started from the desktop; to be sure, make its command %q", command, path)
}

// shellTimeout bounds asking the user's shell: its start-up files may do
// anything.
const shellTimeout = 3 * time.Second

// shellHint says where the user's own shell finds a command that is not on the
// PATH of this process, as happens to what a desktop client starts.
func shellHint(ctx context.Context, command string) string {
	shell := os.Getenv("SHELL")
	if shell == "" || command == "" || strings.ContainsAny(command, `/\'"$;&|`) || runtime.GOOS == "windows" {
		return ""
	}
	if _, err := exec.LookPath(command); err == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, shellTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, shell, "-lic", "command -v -- "+command).Output()
	if err != nil {
		return ""
	}
	// Start-up files may print before the answer.
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	path := strings.TrimSpace(lines[len(lines)-1])
	if !filepath.IsAbs(path) {
		return ""
	}
	return fmt.Sprintf("your shell finds it at %s, which is not on the PATH that this program was started with: make the server's command %q", path, path)
}
