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
