package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/policy"
)

const million = 1_000_000

// broker reads the broker's own settings.
func (c *collector) broker(v hujson.Value, b *Broker) {
	of := func(k string) string { return fmt.Sprintf("%q of \"broker\"", k) }
	section := func(name string, s schema) field {
		return func(v hujson.Value) { c.object(v, of(name), s) }
	}
	policyAt, profilesAt := -1, 0
	readProfiles := c.profiles(of("profiles"), &b.Profiles, &b.Quotas)
	seen := c.object(v, `"broker"`, schema{
		"mode":              c.choice("mode", &b.Mode, "code", "tools", "auto"),
		"autoThreshold":     c.count(of("autoThreshold"), &b.AutoThreshold, million),
		"language":          c.choice("language", &b.Language, "typescript", "javascript", "python"),
		"timeout":           c.duration(of("timeout"), &b.Timeout),
		"maxTimeout":        c.duration(of("maxTimeout"), &b.MaxTimeout),
		"maxOutputChars":    c.count(of("maxOutputChars"), &b.MaxOutputChars, 100*million),
		"readOnly":          c.boolean(of("readOnly"), &b.ReadOnly),
		"typecheck":         c.typecheck(&b.Typecheck),
		"pins":              c.choice("pins", &b.Pins, "on", "strict", "off"),
		"durability":        c.choice("durability", &b.Durability, "normal", "full"),
		"state":             c.database(of("state"), &b.State),
		"objects":           c.objects(of("objects"), &b.Objects),
		"stateFailure":      c.choice("stateFailure", &b.StateFailure, "read", "refuse"),
		"stateKey":          c.list(of("stateKey"), &b.StateKey, c.secret),
		"notedReads":        c.optionalBool(of("notedReads"), &b.NotedReads),
		"learn":             c.optionalBool(of("learn"), &b.Learn),
		"policy":            func(v hujson.Value) { policyAt = v.StartOffset },
		"profile":           c.text(of("profile"), &b.Profile),
		"profiles":          func(v hujson.Value) { profilesAt = v.StartOffset; readProfiles(v) },
		"quotas":            c.quotas(of("quotas"), "", &b.Quotas),
		"personalProcesses": c.count(of("personalProcesses"), &b.PersonalProcesses, 100_000),
		"skills":            c.skills(of, &b.Skills),
		"plugins":           c.plugins(of, &b.Plugins),
		"audit": section("audit", schema{
			"code":     c.optionalBool(of("audit.code"), &b.Audit.Code),
			"payloads": c.boolean(of("audit.payloads"), &b.Audit.Payloads),
			"days":     c.count(of("audit.days"), &b.Audit.Days, 36500),
			"maxSize":  c.size(of("audit.maxSize"), &b.Audit.MaxSize, 1<<20, 1<<40),
			"anchor":   c.text(of("audit.anchor"), &b.Audit.Anchor),
		}),
		"redact": section("redact", schema{
			"secrets":  c.optionalBool(of("redact.secrets"), &b.Redact.Secrets),
			"personal": c.boolean(of("redact.personal"), &b.Redact.Personal),
			"reveal":   c.list(of("redact.reveal"), &b.Redact.Reveal, c.toolPattern),
		}),
		"telemetry": section("telemetry", schema{
			"endpoint": c.text(of("telemetry.endpoint"), &b.Telemetry.Endpoint),
			"baggage":  c.list(of("telemetry.baggage"), &b.Telemetry.Baggage, c.text),
		}),
		"metrics": c.text(of("metrics"), &b.Metrics),
		"search": section("search", schema{
			"wait": c.optionalDuration(of("search.wait"), &b.Search.Wait),
		}),
		"sandbox": c.sandbox(of, &b.Sandbox),
		"http": section("http", schema{
			"tokens":     c.tokens(of("http.tokens"), &b.HTTP.Tokens),
			"signIn":     c.signIn(&b.HTTP.SignIn),
			"console":    c.consoleSignIn(&b.HTTP.Console),
			"url":        c.secureURL(of("http.url"), &b.HTTP.URL),
			"adminToken": c.secret(of("http.adminToken"), &b.HTTP.AdminToken),
		}),
	})
	c.consoleFits(seen["http"], b)
	if policyAt >= 0 || profilesAt > 0 {
		b.Policy = c.rules(policyAt, profilesAt)
		b.addProfiles()
	}
	if b.Objects != "" && b.State == "" {
		c.fail(seen["objects"], `"objects" needs "state": without a database, results are files`)
	}
	limit := b.MaxTimeout
	if limit == 0 {
		limit = defaultMaxTimeout
	}
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

// typecheck reads a word, true or false, or the path of a compiler.
func (c *collector) typecheck(to *string) field {
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

// database reads the address of a database, in which the password should be a
// reference.
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

// objects reads the address of objects.
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
			c.fail(v.StartOffset, "%s is empty: an empty token would let anybody in", where)
		case !strings.Contains(*to, "${") && !isProgramRef(*to):
			c.note(v.StartOffset, "%s is a secret in a file: ${VAR} keeps it out", where)
		}
	}
}
