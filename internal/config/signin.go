package config

import (
	"net/url"
	"strings"

	"github.com/tailscale/hujson"
)

// signIn reads who issues the tokens of people.
func (c *collector) signIn(to *SignIn) field {
	const where = `"http.signIn" of "broker"`
	of := func(key string) string { return quote("signIn."+key) + ` of "http"` }
	return func(v hujson.Value) {
		seen := c.object(v, where, schema{
			"issuer":       c.secureURL(of("issuer"), &to.Issuer),
			"resource":     c.secureURL(of("resource"), &to.Resource),
			"scopes":       c.list(of("scopes"), &to.Scopes, c.text),
			"user":         c.text(of("user"), &to.User),
			"profileClaim": c.text(of("profileClaim"), &to.ProfileClaim),
			"teamClaim":    c.text(of("teamClaim"), &to.TeamClaim),
			"profiles":     c.stringMap(of("profiles"), &to.Profiles, func(string) string { return "" }),
			"clientId":     c.text(of("clientId"), &to.ClientID),
			"clientSecret": c.clientSecret(of("clientSecret"), &to.ClientSecret),
		})
		if at, ok := seen["clientSecret"]; ok && to.ClientID == "" {
			c.fail(at, `%s has a "clientSecret" without the "clientId" that it belongs to`, where)
		}
		for _, key := range []string{"issuer", "resource"} {
			if _, ok := seen[key]; !ok {
				c.fail(v.StartOffset, `%s has no %q`, where, key)
			}
		}
		_, claim := seen["profileClaim"]
		if _, profiles := seen["profiles"]; claim != profiles {
			c.fail(v.StartOffset, `%s needs "profileClaim" and "profiles" together: values of the claim, and the profiles that they give`, where)
		}
	}
}

// consoleSignIn reads who may sign in to the console.
func (c *collector) consoleSignIn(to **ConsoleSignIn) field {
	const where = `"http.console" of "broker"`
	of := func(key string) string { return quote("console."+key) + ` of "http"` }
	return func(v hujson.Value) {
		s := new(ConsoleSignIn)
		seen := c.object(v, where, schema{
			"claim":        c.filled(of("claim"), &s.Claim),
			"admins":       c.list(of("admins"), &s.Admins, c.filled),
			"viewers":      c.list(of("viewers"), &s.Viewers, c.filled),
			"scopes":       c.list(of("scopes"), &s.Scopes, c.filled),
			"clientId":     c.filled(of("clientId"), &s.ClientID),
			"clientSecret": c.clientSecret(of("clientSecret"), &s.ClientSecret),
		})
		if at, ok := seen["clientSecret"]; ok && s.ClientID == "" {
			c.fail(at, `%s has a "clientSecret" without the "clientId" that it belongs to`, where)
		}
		if s.Claim == "" || len(s.Admins)+len(s.Viewers) == 0 {
			c.fail(v.StartOffset, `%s needs a "claim", such as "groups", and "admins" or "viewers": the values of the claim of those who may use the console`, where)
		}
		*to = s
	}
}

// consoleFits checks that people can sign in to the console, if they shall.
func (c *collector) consoleFits(at int, b *Broker) {
	const where = `"http.console" of "broker"`
	switch s := b.HTTP.Console; {
	case s == nil:
	case b.HTTP.SignIn.Issuer == "":
		c.fail(at, `%s needs "signIn" in "http", which says where people sign in`, where)
	case s.ClientID == "" && b.HTTP.SignIn.ClientID == "":
		c.fail(at, `%s needs a "clientId", here or in "signIn": register the broker at the issuer, with the redirect address https://BROKER/console/callback`, where)
	case len(b.StateKey) == 0:
		c.fail(at, `%s needs a "stateKey" in "broker", since sessions are only kept sealed: openssl rand -hex 32 prints a key`, where)
	}
}

// secureURL reads an address of https, or of this machine.
func (c *collector) secureURL(where string, to *string) field {
	return func(v hujson.Value) {
		c.text(where, to)(v)
		if *to == "" {
			return
		}
		u, err := url.Parse(*to)
		local := err == nil && u.Scheme == "http" && (u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127."))
		if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || (u.Scheme != "https" && !local) {
			c.fail(v.StartOffset, `%s must be an address of https, without a query`, where)
		}
	}
}
