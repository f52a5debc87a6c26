package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/policy"
)

// broker reads the settings of the broker.
func (c *collector) broker(v hujson.Value, b *Broker) {
	of := func(k string) string { return fmt.Sprintf("%q of \"broker\"", k) }
	policyAt, profilesAt := -1, 0
	readProfiles := c.profiles(of("profiles"), &b.Profiles, &b.Quotas)
	seen := c.object(v, `"broker"`, c.settings(b, of, schema{
		"policy":   func(v hujson.Value) { policyAt = v.StartOffset },
		"profiles": func(v hujson.Value) { profilesAt = v.StartOffset; readProfiles(v) },
		"quotas":   c.quotas(of("quotas"), "", &b.Quotas),
		"skills":   c.skills(of, &b.Skills),
		"plugins":  c.plugins(of, &b.Plugins),
		"sandbox":  c.sandbox(of, &b.Sandbox),
		"http": func(v hujson.Value) {
			within := func(key string) string { return of("http." + key) }
			c.object(v, of("http"), c.settings(&b.HTTP, within, schema{
				"tokens":  c.tokens(within("tokens"), &b.HTTP.Tokens),
				"signIn":  c.signIn(&b.HTTP.SignIn),
				"console": c.consoleSignIn(&b.HTTP.Console),
			}))
		},
	}))
	if n := b.AutoThreshold; n > 0 && n < 100 {
		c.note(seen["autoThreshold"], `%s is %d, a number of tools: it counts tokens of definitions from 100 on, such as 1500`, of("autoThreshold"), n)
	}
	c.consoleFits(seen["http"], b)
	if policyAt >= 0 || profilesAt > 0 {
		b.Policy = c.rules(policyAt, profilesAt)
		b.addProfiles()
	}
	if b.Objects != "" && b.State == "" {
		c.fail(seen["objects"], `"objects" needs "state": without a database, results are files`)
	}
	limit := b.WithDefaults().MaxTimeout
	if b.Timeout > limit {
		c.fail(seen["timeout"], `"timeout" (%s) is longer than "maxTimeout" (%s): raise "maxTimeout" too`, b.Timeout, limit.Round(time.Second))
	}
}

// toolPattern reads a pattern of tools.
func (c *collector) toolPattern(where string, to *string) field {
	return func(v hujson.Value) {
		c.text(where, to)(v)
		if _, err := policy.NewPatterns([]string{*to}); err != nil {
			c.fail(v.StartOffset, "%s: %v", where, err)
		}
	}
}

// compiler reads true, false, a word, or the path of a compiler.
func (c *collector) compiler(_ string, to *string) field {
	return func(v hujson.Value) {
		switch lit, _ := v.Value.(hujson.Literal); {
		case lit.Kind() == 't':
			*to = "auto"
		case lit.Kind() == 'f':
			*to = "off"
		case lit.Kind() == '"' && strings.ContainsAny(lit.String(), `/\`):
			*to = lit.String()
		default:
			c.choice("typecheck", to, "auto", "off", "strict")(v)
		}
	}
}

// database reads the address of a database; its password should be a reference.
func (c *collector) database(where string, to *string) field {
	return func(v hujson.Value) {
		c.refText(where, to)(v)
		switch {
		case *to == "" || strings.HasPrefix(*to, "${") || isProgramRef(*to):
		case !strings.HasPrefix(*to, "postgres://") && !strings.HasPrefix(*to, "postgresql://"):
			c.fail(v.StartOffset, "%s is not the address of a PostgreSQL database, such as postgres://USER:${PASSWORD}@HOST/DATABASE", where)
		case passwordInURL.MatchString(*to):
			c.note(v.StartOffset, "%s has a password in a file: ${VAR} keeps it out", where)
		}
	}
}

// objects reads the address of an object store.
func (c *collector) objects(where string, to *string) field {
	return func(v hujson.Value) {
		c.refText(where, to)(v)
		switch {
		case *to == "":
		case !strings.HasPrefix(*to, "s3://"):
			c.fail(v.StartOffset, "%s is not the address of objects, such as s3://BUCKET/PREFIX?endpoint=https://HOST", where)
		case secretInURL.MatchString(*to):
			c.note(v.StartOffset, "%s has a secret in a file: ${VAR} keeps it out", where)
		}
	}
}

var secretInURL = lazyregexp.New(`[?&]secretKey=[^$&]`)

var passwordInURL = lazyregexp.New(`^[a-z]+://[^:@/]*:[^@$]+@|[?&]password=[^$&]`)

// secret reads a token, which must not be empty and should be a reference.
func (c *collector) secret(where string, to *string) field {
	return func(v hujson.Value) {
		before := len(c.mistakes) + c.more
		c.refText(where, to)(v)
		switch {
		case len(c.mistakes)+c.more > before:
		case *to == "":
			c.fail(v.StartOffset, "%s is empty: an empty token would admit anybody", where)
		case !strings.Contains(*to, "${") && !isProgramRef(*to):
			c.note(v.StartOffset, "%s is a secret in a file: ${VAR} keeps it out", where)
		}
	}
}
