package config

import (
	"net/url"
	"strings"

	"github.com/tailscale/hujson"
)

// HTTP says who may use the broker over HTTP. Its values may hold references
// that Sources.Expand resolves.
type HTTP struct {
	// Tokens are bearer tokens by the name of the client, each a text or an object.
	Tokens map[string]Token
	// SignIn is whose access tokens people may use instead. See docs/serve.md#people.
	SignIn SignIn
	// Console lets people sign in to the console at the same issuer; default nobody. See
	// docs/console.md#for-a-team.
	Console *ConsoleSignIn
	// URL is the address at which people reach the broker with a browser, such as
	// "https://broker.example.com"; default that of `resource` without `/mcp`. See
	// docs/people.md#set-up.
	URL string
	// AdminToken is a bearer token that may also change what the broker has; default
	// none.
	AdminToken string
}

// SignIn says whose access tokens are good at the endpoint. Issuer and Resource are
// set, or neither is.
type SignIn struct {
	// Issuer is the authorization server, as its metadata names it.
	Issuer string
	// Resource is what clients call the endpoint, such as
	// "https://broker.example.com/mcp": the audience that tokens must have.
	Resource string
	// Scopes are what tokens must have.
	Scopes []string
	// User is the claim that names the person; default "sub".
	User string
	// ProfileClaim is a claim, such as "groups", whose values give profiles; default a
	// person may use all.
	ProfileClaim string
	// Profiles are the profiles that these values give.
	Profiles map[string]string
	// TeamClaim is the claim with the team of a person, of a list the first, for quotas;
	// default none.
	TeamClaim string
	// ClientID and ClientSecret are what the broker is to the issuer when people sign in
	// with a browser. See docs/people.md#set-up.
	ClientID, ClientSecret string
}

// ConsoleSignIn says who may sign in to the console, by OpenID Connect. Claim is set.
type ConsoleSignIn struct {
	// Claim is the claim of ID tokens, such as "groups", a text or a list, whose values
	// decide what a person may do.
	Claim string
	// Admins are the values for those who see everything and may change it. Admins or
	// Viewers are set.
	Admins []string
	// Viewers are the values for those who see everything.
	Viewers []string
	// Scopes are asked for beside "openid"; default "email" and "profile".
	Scopes []string
	// ClientID and ClientSecret are what the console is to the issuer; default those of
	// `signIn`.
	ClientID, ClientSecret string
}

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
			return
		}
		c.host(v, where, u)
	}
}
