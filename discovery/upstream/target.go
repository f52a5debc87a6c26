package upstream

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/hide"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// reference is ${…}, or a whole value that a program is asked for.
var reference = lazyregexp.New(`^(?:command|op)://(?s:.*)|\$\{[^}]*\}`)

// resolve expands the values of c for a server that inherits from this process.
func (c Config) resolve(expand func(string) (string, error)) (*link.Target, error) {
	return c.resolveIn(expand, os.Environ())
}

// resolveIn is resolve for a server that inherits from environ.
func (c Config) resolveIn(expand func(string) (string, error), environ []string) (*link.Target, error) {
	var errs []error
	values := make(map[string]string) // value → reference
	one := func(where, setting, s string) string {
		out, err := expand(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("in %s, %w", where, err)) // "Authorization: …" would be hidden as a secret
			return ""
		}
		inAddress := strings.ContainsAny(s, "@?") && strings.Contains(s, "://") // may contain a password or a key
		for _, ref := range reference.FindAllString(s, -1) {
			if v, err := expand(ref); err == nil && (inAddress || !hide.PlainReference(ref, setting, v)) {
				values[v] = ref
			}
		}
		return out
	}
	given := func(kind, name, s string) string {
		out := one(kind+"."+name, name, s)
		if !reference.MatchString(s) && !hide.LooksPublic(name, s) && !hide.IsPlain(name, s) {
			values[s] = "[" + kind + "." + name + "]"
			if _, rest, ok := strings.Cut(s, " "); ok && kind == "headers" {
				values[rest] = values[s] // such as what follows "Bearer"
			}
		}
		return out
	}
	t := &link.Target{URL: one("url", "", c.URL)}
	t.Program, t.Dir = one("command", "", c.Command), one("cwd", "", c.Dir)
	for i, a := range c.Args {
		where := fmt.Sprintf("args[%d]", i)
		before := ""
		if i > 0 {
			before = c.Args[i-1]
		}
		t.Args = append(t.Args, one(where, flagOf(before, a), a))
		secret := hide.SecretArg(before, a)
		if secret != "" && !reference.MatchString(secret) {
			values[secret] = "[" + where + "]"
		}
	}
	for _, v := range hide.SecretsInURL(c.URL) {
		if !reference.MatchString(v) {
			values[v] = "[url]"
		}
	}
	env := make(map[string]string, len(c.Env))
	for _, k := range slices.Sorted(maps.Keys(c.Env)) {
		env[k] = given("env", k, c.Env[k])
	}
	t.Headers = make(map[string]string, len(c.Headers))
	for _, k := range slices.Sorted(maps.Keys(c.Headers)) {
		t.Headers[k] = given("headers", k, c.Headers[k])
	}
	t.Env = launch.Environment(environ, env)
	t.Hide = hide.New(values)
	return t, errors.Join(errs...)
}

// flagOf returns the name of the flag in the argument arg, or of the flag before if arg
// is its value.
func flagOf(before, arg string) string {
	if !strings.HasPrefix(arg, "-") {
		if name, _, ok := strings.Cut(arg, ":"); ok && hide.SecretArg(before, arg) != "" {
			return name // such as "Authorization: Bearer …"
		}
		arg = before
	}
	if !strings.HasPrefix(arg, "-") {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return name
}
