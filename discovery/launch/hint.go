package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// StartHint says what to do about a command that does not start.
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

// DamageHint is what to do if a server has failed because its installation by npx
// is not whole, as its stderr shows; "" if that is not the trouble.
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

// Cause returns the line of a server's stderr that says most about why it failed,
// "" if there is none: the cause in npm's report, or of the last twenty the newest that mentions
// an error, else the newest. A stack trace ends in frames
// and braces, and npm's report in advice.
func Cause(lines []string) string {
	if cause := npmCause(lines); cause != "" {
		return cause
	}
	newest := ""
	for i := len(lines) - 1; i >= 0 && i >= len(lines)-20; i-- {
		line := strings.TrimSpace(lines[i])
		l := strings.ToLower(line)
		if isNoise(l) {
			continue
		}
		if strings.Contains(l, "error") {
			return line
		}
		if newest == "" {
			newest = line
		}
	}
	return newest
}

// isNoise reports whether a line, in small letters, says nothing about a failure.
func isNoise(line string) bool {
	return strings.HasPrefix(line, "at ") || strings.HasPrefix(line, "npm warn") || strings.HasPrefix(line, "npm notice") ||
		strings.HasPrefix(line, "npm error") || strings.HasPrefix(line, "npm err!")
}

// npmCause is the line of npm's report that holds the cause, or "": the first
// error in it, else the first that says anything.
func npmCause(lines []string) string {
	first := ""
	for _, line := range lines {
		rest, ok := npmReport(line)
		if !ok || npmCode.MatchString(rest) {
			continue
		}
		if strings.Contains(rest, "rror: ") {
			return strings.TrimSpace(line)
		}
		first = cmp.Or(first, strings.TrimSpace(line))
	}
	return first
}

// npmReport is what a line of npm's report on a failure says.
func npmReport(line string) (rest string, ok bool) {
	for _, prefix := range []string{"npm error", "npm ERR!"} { // the latter until npm 9
		if rest, ok = strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// npmCode is a line of npm's report that names no cause.
var npmCode = lazyregexp.New(`(?i)^((code|syscall|errno|enoent|signal|command|path|dest|cwd|stack|404|network|notarget)( \S+)?|(path|dest|cwd|command) .*|A complete log of this run.*)?$`)
