package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// A target is a Config with every reference resolved. It lives as long as one
// connection attempt, and nothing of it reaches the disk, a log or an error
// unhidden.
type target struct {
	command string
	args    []string
	env     []string
	dir     string
	url     string
	headers map[string]string
	hide    func(string) string // puts references back in place of their values
}

var reference = regexp.MustCompile(`\$\{[^}]*\}`)

// resolve expands the values of c.
func (c Config) resolve(expand func(string) (string, error)) (*target, error) {
	var errs []error
	values := make(map[string]string) // value → reference
	one := func(where, s string) string {
		out, err := expand(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
			return ""
		}
		for _, ref := range reference.FindAllString(s, -1) {
			// A short value would also be hidden where it stands for itself.
			if v, err := expand(ref); err == nil && len(v) >= 6 {
				values[v] = ref
			}
		}
		return out
	}
	t := &target{command: one("command", c.Command), dir: one("cwd", c.Dir), url: one("url", c.URL)}
	for i, a := range c.Args {
		t.args = append(t.args, one(fmt.Sprintf("args[%d]", i), a))
	}
	env := make(map[string]string, len(c.Env))
	for _, k := range slices.Sorted(maps.Keys(c.Env)) {
		env[k] = one("env."+k, c.Env[k])
	}
	t.headers = make(map[string]string, len(c.Headers))
	for _, k := range slices.Sorted(maps.Keys(c.Headers)) {
		t.headers[k] = one("headers."+k, c.Headers[k])
	}
	t.env = environment(os.Environ(), env)
	t.hide = hider(values)
	return t, errors.Join(errs...)
}

// hider returns a function that replaces values by their references.
func hider(values map[string]string) func(string) string {
	if len(values) == 0 {
		return func(s string) string { return s }
	}
	// A value may contain another one: the longer goes first.
	longest := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var pairs []string
	for _, v := range longest {
		pairs = append(pairs, v, values[v])
	}
	return strings.NewReplacer(pairs...).Replace
}

// start runs the command of t.
func (t *target) start(stderr *ring) (*process, error) {
	path, err := lookPath(t.command, t.dir, t.env)
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("command %q not found in PATH: %w", t.command, exec.ErrNotFound)
		}
		return nil, fmt.Errorf("start command %q: %w", t.command, err)
	}
	p, err := startProcess(path, t.args, t.env, t.dir, stderr)
	if err != nil {
		return nil, fmt.Errorf("start command %q: %w", t.command, err)
	}
	return p, nil
}
