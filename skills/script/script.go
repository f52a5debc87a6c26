// Package script runs a script of a skill on this host. Whoever calls it has to
// know that the user wants just that: the script may do whatever the user may.
//
// The program is started without a shell, with the arguments as they are given,
// in an environment of a few variables, in a process group of its own that is
// killed as a whole at the end of its time.
package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

const (
	// DefaultTimeout is how long a script may run when nothing is said.
	DefaultTimeout = 30 * time.Second
	// DefaultMaxOutput is how many bytes of each stream are kept.
	DefaultMaxOutput = 20 << 10
	// Truncated marks a stream of which more was written.
	Truncated = "\n[output truncated]"

	// drainTime is how long a killed group may hold the streams open.
	drainTime = 2 * time.Second
)

// A Code says why a script has no good result.
type Code string

// The codes.
const (
	NotFound   Code = "ScriptNotFound"
	NotAllowed Code = "ScriptNotAllowed"
	Timeout    Code = "ExecutionTimeout"
	Failed     Code = "ExecutionFailed"
)

// A Request is one run.
type Request struct {
	// Dir is the skill's folder.
	Dir string
	// Script is relative to it, with slashes.
	Script string
	Args   []string
	// Timeout is how long it may run; 0 means DefaultTimeout.
	Timeout time.Duration
	// MaxOutput is how many bytes of each stream are kept; 0 means
	// DefaultMaxOutput.
	MaxOutput int
	// Env are variables beside PATH, HOME, LANG and SKILL_DIR, as NAME=value.
	Env []string
}

// A Result is how a run ended. It is made for a model to read.
type Result struct {
	Success  bool   `json:"success"`
	ExitCode int    `json:"exit_code"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	// Code and Error are empty if the script ended with code 0.
	Code  Code   `json:"code,omitempty"`
	Error string `json:"error,omitempty"`
}

func refused(code Code, format string, args ...any) Result {
	return Result{ExitCode: -1, Code: code, Error: fmt.Sprintf(format, args...)}
}

// interpreters run scripts that are not executable by themselves.
var interpreters = map[string][]string{
	".sh": {"sh"}, ".bash": {"bash"}, ".py": {"python3"}, ".js": {"node"}, ".mjs": {"node"}, ".rb": {"ruby"}, ".pl": {"perl"},
}

// Run runs a script of a skill. It returns when the script and what it started
// are gone.
func Run(ctx context.Context, r Request) Result {
	argv, bad := resolve(r)
	if bad != nil {
		return *bad
	}
	if r.Timeout == 0 {
		r.Timeout = DefaultTimeout
	}
	if r.MaxOutput == 0 {
		r.MaxOutput = DefaultMaxOutput
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	stdout, stderr := &capped{max: r.MaxOutput}, &capped{max: r.MaxOutput}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.Dir, stdout, stderr
	cmd.Env = environment(r)
	cmd.WaitDelay = drainTime
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return refused(NotAllowed, "%s cannot be started: %s", r.Script, reason(err))
	}
	err := cmd.Wait()
	killGroup(cmd) // what it left behind
	res := Result{Success: err == nil, ExitCode: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		res.Success, res.Code, res.Error = false, Timeout, fmt.Sprintf("%s was still running after %s and was killed", r.Script, r.Timeout)
	case ctx.Err() != nil:
		res.Success, res.Code, res.Error = false, Failed, r.Script+" was cancelled"
	case res.ExitCode == 0 && errors.Is(err, exec.ErrWaitDelay):
		res.Success = true // something that it started kept the streams open
	case err != nil:
		res.Code, res.Error = Failed, fmt.Sprintf("%s ended with code %d", r.Script, res.ExitCode)
	}
	return res
}

// resolve finds the program of a request, inside of the skill.
func resolve(r Request) (argv []string, bad *Result) {
	refuse := func(code Code, format string, args ...any) ([]string, *Result) {
		res := refused(code, format, args...)
		return nil, &res
	}
	clean := path.Clean(strings.ReplaceAll(r.Script, `\`, "/"))
	if r.Script == "" || strings.ContainsRune(r.Script, 0) || path.IsAbs(clean) || !filepath.IsLocal(filepath.FromSlash(clean)) {
		return refuse(NotAllowed, "%q leads out of the skill: give a path relative to it", r.Script)
	}
	if slices.ContainsFunc(r.Args, func(a string) bool { return strings.ContainsRune(a, 0) }) {
		return refuse(NotAllowed, "an argument has a NUL")
	}
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return refuse(NotFound, "the skill is gone")
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(clean))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(NotFound, "there is no script %q%s", r.Script, hint(root, clean))
	case err != nil:
		return refuse(NotAllowed, "%q is or goes through a link that leads out of the skill", r.Script)
	case !info.Mode().IsRegular():
		return refuse(NotAllowed, "%q is no file", r.Script)
	}
	file, err := filepath.Abs(filepath.Join(r.Dir, filepath.FromSlash(clean)))
	if err != nil {
		return refuse(NotFound, "the skill is gone")
	}
	if executable(info) {
		return append([]string{file}, r.Args...), nil
	}
	with, ok := interpreters[strings.ToLower(path.Ext(clean))]
	if !ok {
		return refuse(NotAllowed, "%q is not executable, and its kind has no known interpreter", r.Script)
	}
	program, err := exec.LookPath(with[0])
	if err != nil {
		return refuse(NotAllowed, "%q needs %s, which is not installed", r.Script, with[0])
	}
	return slices.Concat([]string{program}, with[1:], []string{file}, r.Args), nil
}

func hint(root *os.Root, name string) string {
	var known []string
	_ = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && len(known) < 500 {
			known = append(known, p)
		}
		return nil
	})
	if near := nearest.Names(name, known, 3); len(near) > 0 {
		return ": did you mean " + strings.Join(near, ", ") + "?"
	}
	return ""
}

// environment has nothing of the broker's own but what programs need to run.
func environment(r Request) []string {
	env := []string{"SKILL_DIR=" + r.Dir}
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT", "PATHEXT", "TEMP", "TMP"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, r.Env...)
}

func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// capped keeps the beginning of what is written to it.
type capped struct {
	mu   sync.Mutex
	b    bytes.Buffer
	max  int
	more bool
}

var _ io.Writer = (*capped)(nil)

// Write implements io.Writer. It takes everything, so that the script does not
// notice.
func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.max - c.b.Len()
	c.b.Write(p[:min(left, len(p))])
	c.more = c.more || len(p) > left
	return len(p), nil
}

func (c *capped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.ToValidUTF8(c.b.String(), "\uFFFD")
	if c.more {
		text += Truncated
	}
	return text
}
