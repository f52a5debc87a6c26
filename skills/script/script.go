// Package script runs a script of a skill on this host. Whoever calls it has to
// know that the user wants just that: the script may do whatever the user may.
//
// The program is started without a shell, with the arguments as they are given,
// in an environment of a few variables, in a process group of its own that is
// killed as a whole at the end of its time.
package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

const (
	// DefaultTimeout is how long a script may run when nothing is said.
	DefaultTimeout = 30 * time.Second
	// DefaultMaxOutput is how many bytes of each stream are kept.
	DefaultMaxOutput = 20 << 10

	// drainTime is how long a killed group may hold the streams open.
	drainTime = 2 * time.Second
)

// A Request is one run.
type Request struct {
	// Dir is the skill's folder.
	Dir string
	// Script is relative to it, with slashes.
	Script string
	Args   []string
	// Stdin is what it reads there.
	Stdin string
	// Cwd is the folder that it starts in; empty means Dir.
	Cwd string
	// Timeout is how long it may run; 0 means DefaultTimeout.
	Timeout time.Duration
	// MaxOutput is how many bytes of each stream are kept; 0 means
	// DefaultMaxOutput.
	MaxOutput int
	// Environ returns the environment from which PATH, HOME, LANG and a few others are
	// taken, as NAME=value; nil means os.Environ.
	Environ func() []string
	// Env are variables in addition to these and SKILL_DIR, as NAME=value.
	Env []string
}

// A Result is how a run ended. It is made for a model to read.
type Result struct {
	Success  bool   `json:"success"`
	ExitCode int    `json:"exit_code"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	// Error begins with Code; both are empty if the script ended with code 0.
	Error      string `json:"error,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	Code       Code   `json:"-"`
}

// Ended judges the result by its exit code.
func (r Result) Ended(script string) Result {
	if r.ExitCode != 0 {
		return r.fail(Failed, fmt.Sprintf("%s ended with code %d", script, r.ExitCode))
	}
	r.Success = true
	return r
}

// Late is the result of a script that was killed after a time.
func (r Result) Late(script string, after time.Duration) Result {
	return r.fail(Timeout, fmt.Sprintf("%s was still running after %g s and was killed", script, after.Seconds()))
}

func (r Result) fail(code Code, message string) Result {
	r.Success, r.Code, r.Error = false, code, string(code)+": "+message
	return r
}

// refused is the result of what was not started.
func refused(err error) Result {
	res := Result{ExitCode: -1, Error: err.Error()}
	if e, ok := errors.AsType[*Error](err); ok {
		res.Code = e.Code
	}
	return res
}

// Run runs a script of a skill. It returns when the script and what it started
// are gone.
func Run(ctx context.Context, r Request) Result {
	env := environment(r)
	argv, err := resolve(r, env)
	if err != nil {
		return refused(err)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, DefaultTimeout))
	defer cancel()
	stdout, stderr := NewOutput(r.MaxOutput), NewOutput(r.MaxOutput)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = cmp.Or(r.Cwd, r.Dir), stdout, stderr
	if r.Stdin != "" {
		cmd.Stdin = strings.NewReader(r.Stdin)
	}
	cmd.Env = env
	cmd.WaitDelay = drainTime
	spawn.Group(cmd)
	if err := spawn.Start(cmd); err != nil {
		return refused(&Error{NotAllowed, fmt.Sprintf("%s cannot be started: %s", r.Script, reason(err))})
	}
	err = cmd.Wait()
	_ = spawn.Kill(cmd.Process) // what it left behind; mostly nothing
	code := cmd.ProcessState.ExitCode()
	if code == 0 && errors.Is(err, exec.ErrWaitDelay) {
		err = nil // something that it started kept the streams open
	}
	res := Result{ExitCode: code, Stdout: stdout.String(), Stderr: stderr.String(), DurationMS: time.Since(start).Milliseconds()}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return res.Late(r.Script, cmp.Or(r.Timeout, DefaultTimeout))
	case ctx.Err() != nil:
		return res.fail(Failed, r.Script+" was cancelled")
	case err != nil && code == 0:
		return res.fail(Failed, r.Script+": "+reason(err))
	}
	return res.Ended(r.Script)
}

// resolve finds the program of a request, in the skill or in the PATH of env.
func resolve(r Request, env []string) (argv []string, err error) {
	if slices.ContainsFunc(r.Args, func(a string) bool { return strings.ContainsRune(a, 0) }) {
		return nil, &Error{NotAllowed, "an argument has a NUL"}
	}
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return nil, &Error{NotFound, "the skill is gone"}
	}
	defer root.Close()
	s, err := Find(root.FS(), r.Script)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return nil, &Error{NotFound, "the skill is gone"}
	}
	if s.Executable {
		return append([]string{filepath.Join(dir, filepath.FromSlash(s.Path))}, r.Args...), nil
	}
	program, err := spawn.LookPath(s.Program[0], env)
	if err != nil {
		return nil, &Error{NotAllowed, fmt.Sprintf("%q needs %s, which is not installed", r.Script, s.Program[0])}
	}
	argv = s.Argv(filepath.ToSlash(dir), r.Args)
	argv[0] = program
	return argv, nil
}

// environment returns only the variables that programs need to run.
func environment(r Request) []string {
	all := os.Environ
	if r.Environ != nil {
		all = r.Environ
	}
	env := []string{"SKILL_DIR=" + r.Dir}
	for _, kv := range all() {
		name, _, _ := strings.Cut(kv, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		if slices.Contains(inherited, name) {
			env = append(env, kv)
		}
	}
	return append(env, r.Env...)
}

// inherited are the variables that scripts get.
var inherited = []string{"PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT", "PATHEXT", "TEMP", "TMP"}

func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
