package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// personalField reads a key whose values may contain secrets of people.
func (c *collector) personalField(f field) field {
	return func(v hujson.Value) {
		c.personal = true
		defer func() { c.personal = false }()
		f(v)
	}
}

// credentials checks that the settings of a server fit its credentials.
func (c *collector) credentials(at int, where string, s *Server, seen map[string]int) {
	if to, ok := seen["credentials"]; ok {
		at = to
	}
	names, o := s.PersonalSecrets(), s.OAuth
	if s.Credentials != "exchange" && (o.TokenEndpoint != "" || o.Audience != "") {
		c.fail(seen["oauth"], `"tokenEndpoint" and "audience" in "oauth" of %s are for "credentials": "exchange"`, where)
	}
	switch {
	case c.ofProject && s.Credentials != "" && s.Credentials != "shared":
		c.fail(at, `%s: a project cannot have "credentials": they are for your own config`, where)
	case len(names) > 0 && s.Credentials != "user":
		c.fail(at, `%s has ${person:%s}, so it needs "credentials": "user"`, where, names[0])
	case s.Credentials == "exchange" && s.Command != "":
		c.fail(at, `%s has a "command", and only servers with a "url" get exchanged tokens: write "user", and ${person:NAME} in "env"`, where)
	case s.Credentials == "exchange" && (o.TokenEndpoint == "" || o.ClientID == ""):
		c.fail(at, `%s needs a "tokenEndpoint" and a "clientId" in "oauth", where tokens of people are exchanged`, where)
	case s.Credentials == "user" && s.Command != "" && len(names) == 0:
		c.fail(at, `%s has "credentials": "user", so its "env" must say which secrets of a person it gets: write ${person:NAME}`, where)
	case s.Credentials == "user" && len(names) == 0 && o.ClientSecret != "" && o.Issuer == "":
		c.fail(at, `%s has a "clientSecret" in "oauth", so it needs the "issuer" that gets the secret when a person connects`, where)
	case (s.Credentials == "user" || s.Credentials == "exchange") && len(names) == 0 && s.OwnAuthorization():
		c.fail(at, `%s has an Authorization in "headers", which all people would share: remove it, or write ${person:NAME} in it`, where)
	}
}

// OwnAuthorization reports whether the configuration itself contains an authorization, which takes
// precedence.
func (s *Server) OwnAuthorization() bool {
	for k := range s.Headers {
		if strings.EqualFold(k, "Authorization") {
			return true
		}
	}
	return false
}

// PersonalSecrets returns the names of the secrets that the server needs from each person, sorted.
func (s *Server) PersonalSecrets() []string {
	var names []string
	for _, texts := range []map[string]string{s.Env, s.Headers} {
		for text := range maps.Values(texts) {
			names = append(names, personNames(text)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// personNames returns the names of a person's secrets that a text refers to.
func personNames(text string) (names []string) {
	_ = eachPart(text, func(_ string, r *ref) error {
		if r != nil && r.kind == personRef {
			names = append(names, r.name)
		}
		return nil
	})
	return names
}

// isSecretName reports whether s is a valid name for a secret of a person, which is also the name
// of a form field.
func isSecretName(s string) bool {
	return s != "" && len(s) <= 60 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
