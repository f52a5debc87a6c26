package upstream

import (
	"crypto/sha256"
	"encoding/hex"
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
	hide    *hider
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
			if v, err := expand(ref); err == nil {
				values[v] = ref
			}
		}
		return out
	}
	given := func(kind, name, s string) string {
		out := one(kind+"."+name, s)
		if !reference.MatchString(s) && !looksPublic(name, s) {
			values[s] = "[" + kind + "." + name + "]"
			if _, rest, ok := strings.Cut(s, " "); ok && kind == "headers" {
				values[rest] = values[s] // such as what follows "Bearer"
			}
		}
		return out
	}
	t := &target{command: one("command", c.Command), dir: one("cwd", c.Dir), url: one("url", c.URL)}
	for i, a := range c.Args {
		where := fmt.Sprintf("args[%d]", i)
		t.args = append(t.args, one(where, a))
		before := ""
		if i > 0 {
			before = c.Args[i-1]
		}
		if v := secretArg(before, a); v != "" && !reference.MatchString(v) {
			values[v] = "[" + where + "]"
		}
	}
	for _, v := range secretsInURL(c.URL) {
		if !reference.MatchString(v) {
			values[v] = "[url]"
		}
	}
	env := make(map[string]string, len(c.Env))
	for _, k := range slices.Sorted(maps.Keys(c.Env)) {
		env[k] = given("env", k, c.Env[k])
	}
	t.headers = make(map[string]string, len(c.Headers))
	for _, k := range slices.Sorted(maps.Keys(c.Headers)) {
		t.headers[k] = given("headers", k, c.Headers[k])
	}
	t.env = environment(os.Environ(), env)
	t.hide = newHider(values)
	return t, errors.Join(errs...)
}

// installID is the same for the same installation.
func (t *target) installID() string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{t.command, t.dir}, t.args...), "\x00")))
	return hex.EncodeToString(sum[:8])
}

// start runs the command of t.
func (t *target) start(stderr *ring, g *processGuard) (*process, error) {
	path, err := lookPath(t.command, t.dir, t.env)
	if err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("command %q not found in PATH: %w", t.command, exec.ErrNotFound)
		}
		return nil, fmt.Errorf("start command %q: %w", t.command, err)
	}
	installs := mayInstall(t.command, t.args)
	if installs {
		t.env = append(t.env, installVariable+"="+t.installID())
	}
	p, err := startProcess(path, t.args, t.env, t.dir, stderr, g, installs)
	if err != nil {
		return nil, fmt.Errorf("start command %q: %w", t.command, err)
	}
	return p, nil
}
