package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// StartHint returns the advice for a command that does not start.
func StartHint(command string, err error) string {
	if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, os.ErrNotExist) {
		return fmt.Sprintf("check that %s may be executed", command)
	}
	switch command {
	case "npx", "npm", "node":
		return `install Node.js 20 or later, or give the full path of ` + command + ` as "command" (a broker started from a desktop may have a shorter PATH than your shell)`
	case "uvx", "uv":
		return `install uv (https://docs.astral.sh/uv), or give the full path of ` + command + ` as "command"`
	case "docker", "podman":
		return "install " + command + ` and start it, or give its full path as "command"`
	}
	return fmt.Sprintf(`install %s, or give its full path as "command"`, command)
}

// ByHand is a command as one types it into a shell.
func ByHand(program string, args []string) string {
	words := []string{shellWord(program)}
	for _, a := range args {
		words = append(words, shellWord(a))
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word for a shell, in which its ${VAR} are still replaced.
func shellWord(word string) string {
	switch {
	case plainWord.MatchString(word):
		return word
	case runtime.GOOS == "windows":
		return `"` + strings.ReplaceAll(word, `"`, `\"`) + `"`
	case strings.Contains(word, "${"):
		return `"` + inQuotes.Replace(word) + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var (
	plainWord = lazyregexp.New(`^[\w@%+=:,./-]+$`)
	inQuotes  = strings.NewReplacer("${", "${", `\`, `\\`, `"`, `\"`, "`", "\\`", "$", `\$`)
)

// DamageHint returns the advice for a server that has failed because its installation
// by npx is incomplete, according to its stderr, or "".
func DamageHint(stderr []string) string {
	dir := damagedInstall(stderr)
	if dir == "" {
		return ""
	}
	what := "broker doctor --fix puts it aside"
	if !isHalf(dir) {
		what = "rename " + shellWord(filepath.Join(dir, "node_modules"))
	}
	return "its npx installation is incomplete, which happens when npx is killed while it installs: " + what + ", and npx installs it anew"
}

var npxInstall = lazyregexp.New(`[^\s'"(]*[/\\]_npx[/\\][0-9a-f]+`)

// damagedInstall returns the folder in npx's cache that lacks a module that the
// server wants, "" if that is not the trouble. npx never repairs such a folder.
func damagedInstall(stderr []string) string {
	for _, line := range stderr {
		if strings.Contains(line, "Cannot find package") || strings.Contains(line, "Cannot find module") {
			if dir := npxInstall.FindString(line); dir != "" {
				return dir
			}
		}
	}
	return ""
}
