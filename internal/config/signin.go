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
	Tokens map[string]Token `name:"tokens" read:"own" reload:"restart"`
	// SignIn is the issuer of access tokens that people may use instead. See docs/serve.md#people.
	SignIn SignIn `name:"signIn" read:"own" reload:"restart"`
	// Console lets people sign in to the console at the same issuer; default nobody. See
	// docs/console.md#for-a-team.
	Console *ConsoleSignIn `name:"console" read:"own" reload:"restart"`
	// URL is the address at which people reach the broker with a browser, such as
	// "https://broker.example.com"; default that of `resource` without `/mcp`. See
	// docs/people.md#set-up.
	URL string `name:"url" read:"secureURL" reload:"restart"`
	// AdminToken is a bearer token that may also change what the broker has; default
	// none.
	AdminToken string `name:"adminToken" read:"secret" reload:"restart"`
}

// SignIn says whose access tokens are good at the endpoint. Issuer and Resource are
// set, or neither is.
type SignIn struct {
	// Issuer is the authorization server, as its metadata names it.
	Issuer string `name:"issuer" read:"secureURL" reload:"restart"`
	// Resource is the clients' name of the endpoint, such as
	// "https://broker.example.com/mcp": the audience that tokens must have.
	Resource string `name:"resource" read:"secureURL" reload:"restart"`
	// Scopes are the scopes that tokens must have.
	Scopes []string `name:"scopes" reload:"restart"`
	// User is the claim that names the person; default "sub".
	User string `name:"user" reload:"restart"`
	// ProfileClaim is a claim, such as "groups", whose values give profiles; default a
	// person may use all.
	ProfileClaim string `name:"profileClaim" reload:"restart"`
	// Profiles are the profiles that these values give.
	Profiles map[string]string `name:"profiles" read:"own" reload:"restart"`
	// TeamClaim is the claim with the team of a person, of a list the first, for quotas;
	// default none.
	TeamClaim string `name:"teamClaim" reload:"restart"`
	// ClientID is the broker's client at the issuer when people sign in with a browser. See
	// docs/people.md#set-up.
	ClientID string `name:"clientId" reload:"restart"`
	// ClientSecret is the secret of `clientId`.
	ClientSecret string `name:"clientSecret" read:"clientSecret" reload:"restart"`
}

// ConsoleSignIn says who may sign in to the console, by OpenID Connect. Claim is set.
type ConsoleSignIn struct {
	// Claim is the claim of ID tokens, such as "groups", a text or a list, whose values
	// decide what a person may do.
	Claim string `name:"claim" read:"filled" reload:"restart"`
	// Admins are the values for those who see everything and may change it. Admins or
	// Viewers are set.
	Admins []string `name:"admins" read:"filled" reload:"restart"`
	// Viewers are the values for those who see everything.
	Viewers []string `name:"viewers" read:"filled" reload:"restart"`
	// Scopes are asked for beside "openid"; default "email" and "profile".
	Scopes []string `name:"scopes" read:"filled" reload:"restart"`
	// ClientID is the console's client at the issuer; default that of `signIn`.
	ClientID string `name:"clientId" read:"filled" reload:"restart"`
	// ClientSecret is the secret of `clientId`; default that of `signIn`.
	ClientSecret string `name:"clientSecret" read:"clientSecret" reload:"restart"`
}

// signIn reads the issuer of people's tokens.
func (c *collector) signIn(to *SignIn) field {
	const where = `"http.signIn" of "broker"`
	of := func(key string) string { return quote("signIn."+key) + ` of "http"` }
	return func(v hujson.Value) {
		seen := c.object(v, where, c.settings(to, of, schema{
			"profiles": c.stringMap(of("profiles"), &to.Profiles, func(string) string { return "" }),
		}))

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
		seen := c.object(v, where, c.settings(s, of, nil))

		if at, ok := seen["clientSecret"]; ok && s.ClientID == "" {
			c.fail(at, `%s has a "clientSecret" without the "clientId" that it belongs to`, where)
		}
		if s.Claim == "" || len(s.Admins)+len(s.Viewers) == 0 {
			c.fail(v.StartOffset, `%s needs a "claim", such as "groups", and "admins" or "viewers": the values of the claim of those who may use the console`, where)
		}
		*to = s
	}
}

// consoleFits checks the requirements of the sign-in to the console.
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

// secureURL reads an https address, or an address of this machine.
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
