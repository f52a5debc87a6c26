package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// A Profile says which servers and tools some clients have. Its patterns are in
// the style of path.Match; what the file leaves out is "*", all.
type Profile struct {
	// Servers are patterns of names of servers, none with an empty list; default all.
	Servers []string `name:"servers" read:"pattern"`
	// Allow are patterns of tools, such as `list_*`, `github__*` or `github.list_*`, that the
	// profile has; default all.
	Allow []string `name:"tools.allow" read:"pattern"`
	// Deny are patterns of tools that the profile does not have, even if Allow has them.
	Deny []string `name:"tools.deny" read:"pattern"`
	// ReadOnly leaves out what ReadOnly of the broker leaves out.
	ReadOnly bool `name:"readOnly"`
}

// A Token lets a client in over HTTP.
type Token struct {
	// Value is the token. It may hold references that Sources.Expand resolves.
	Value string `name:"value" read:"secret"`
	// Profile is the only profile that it can use; default any.
	Profile string `name:"profile"`
	// Team is the team for whose quotas its calls count.
	Team string `name:"team"`
	// Expires is the day (UTC), or time, from which on it is refused, such as
	// "2027-01-31"; default never.
	Expires time.Time `name:"expires" read:"own"`
}

// profiles reads the profiles by name, and their quotas.
func (c *collector) profiles(where string, to *map[string]Profile, quotas *[]Quota) field {
	return func(v hujson.Value) {
		c.members(v, where, func(name string, key, value hujson.Value) {
			if !profileName.MatchString(name) {
				c.fail(key.StartOffset, "%s: %s is not a name for a profile: use letters, digits, \"_\" and \"-\", at most 63", where, quote(name))
				return
			}
			of := func(k string) string { return fmt.Sprintf("%q of profile %q", k, name) }
			p := Profile{Servers: []string{"*"}, Allow: []string{"*"}}
			ignore := func(hujson.Value) {} // these are read as a part of the policy
			own := schema{
				"tools":       c.tools(of, &p, &p.Allow, nil),       // tools of these servers, see below; a list means `allow`; default all
				"quotas":      c.quotas(of("quotas"), name, quotas), // of the clients with the profile, in addition to those of the broker; default none
				"description": ignore,                               // a text for people
				// The policy of the clients with the profile, added to `policy`. See docs/policy.md#profiles.
				"preset": ignore, "rules": ignore, "budgets": ignore, "flows": ignore, "labels": ignore, "trifecta": ignore,
			}
			c.object(value, fmt.Sprintf("profile %q", name), c.settings(&p, of, own))
			if *to == nil {
				*to = make(map[string]Profile)
			}
			(*to)[name] = p
		})
	}
}

// profileName matches names that can be part of an address.
var profileName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// NearProfile returns a clause with the nearest profile, or "".
func (b Broker) NearProfile(name string) string {
	if near := nearest.Names(name, slices.Sorted(maps.Keys(b.Profiles)), 1); len(near) > 0 {
		return fmt.Sprintf("; did you mean %q?", near[0])
	}
	return ""
}

// UnknownProfiles lists references to profiles that do not exist. They are not mistakes of the
// file, since requests with them are refused.
func (b Broker) UnknownProfiles() []string {
	var list []string
	say := func(who, name string) {
		if _, ok := b.Profiles[name]; name != "" && !ok {
			list = append(list, fmt.Sprintf("there is no profile %q, which %s uses%s", name, who, b.NearProfile(name)))
		}
	}
	say(`"profile" of "broker"`, b.Profile)
	for _, client := range slices.Sorted(maps.Keys(b.HTTP.Tokens)) {
		say(fmt.Sprintf("the token of %q", client), b.HTTP.Tokens[client].Profile)
	}
	for _, value := range slices.Sorted(maps.Keys(b.HTTP.SignIn.Profiles)) {
		say(fmt.Sprintf("%q of %q", value, b.HTTP.SignIn.ProfileClaim), b.HTTP.SignIn.Profiles[value])
	}
	return list
}

// tokens reads the tokens of HTTP, each a string or an object.
func (c *collector) tokens(where string, to *map[string]Token) field {
	return func(v hujson.Value) {
		c.members(v, where, func(name string, key, value hujson.Value) {
			if strings.TrimSpace(name) == "" {
				c.fail(key.StartOffset, "%s: a token needs the name of its client", where)
				return
			}
			of := fmt.Sprintf("the token of %s", quote(name))
			within := func(key string) string { return fmt.Sprintf("%q of %s", key, of) }
			var t Token
			if value.Value.Kind() != '{' {
				c.secret(of, &t.Value)(value)
			} else if seen := c.object(value, of, c.settings(&t, within, schema{"expires": c.date(within("expires"), &t.Expires)})); seen["value"] == 0 {
				c.fail(key.StartOffset, `%s has no "value"`, of)
			}
			if *to == nil {
				*to = make(map[string]Token)
			}
			(*to)[name] = t
		})
	}
}

// date reads a day, which begins in UTC, or a time.
func (c *collector) date(where string, to *time.Time) field {
	return func(v hujson.Value) {
		var s string
		c.text(where, &s)(v)
		if v.Value.Kind() != '"' {
			return
		}
		for _, form := range []string{time.DateOnly, time.RFC3339} {
			if t, err := time.Parse(form, s); err == nil {
				*to = t
				return
			}
		}
		c.fail(v.StartOffset, `%s: %s is not a date: write "2027-01-31"`, where, quote(s))
	}
}
