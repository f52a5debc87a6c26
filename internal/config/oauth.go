package config

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tailscale/hujson"
)

// oauth reads the sign-in to a server.
func (c *collector) oauth(v hujson.Value, where string, o *OAuth) {
	of := func(k string) string { return fmt.Sprintf("%q of %s", "oauth."+k, where) }
	seen := c.object(v, `"oauth" of `+where, c.settings(o, of, schema{"scopes": c.scopes(of("scopes"), &o.Scopes)}))
	_, hasID := seen["clientId"]
	if at, ok := seen["clientSecret"]; ok && !hasID {
		c.fail(at, `"oauth" of %s has a "clientSecret" without the "clientId" that it belongs to`, where)
	}
}

// filled reads a string that may contain references and must not be blank.
func (c *collector) filled(where string, to *string) field {
	return func(v hujson.Value) {
		if lit, ok := v.Value.(hujson.Literal); ok && strings.TrimSpace(lit.String()) == "" {
			c.fail(v.StartOffset, "%s is empty: leave it out if there is none", where)
			return
		}
		c.refText(where, to)(v)
	}
}

// clientSecret reads a secret, which should be a reference.
func (c *collector) clientSecret(where string, to *string) field {
	return func(v hujson.Value) {
		c.filled(where, to)(v)
		if *to != "" && !strings.Contains(*to, "${") && !isProgramRef(*to) {
			c.note(v.StartOffset, "%s is a secret in a file: ${VAR} and ${keyring:name} keep it out", where)
		}
	}
}

// oauthFits checks that a server with "oauth" supports a sign-in.
func (c *collector) oauthFits(at int, where string, s *Server, hasCommand bool) {
	if hasCommand {
		c.fail(at, `%s has a "command", and only servers with a "url" are signed in to: a program gets its credentials through "env"`, where)
		return
	}
	for k := range s.Headers {
		if strings.EqualFold(k, "Authorization") {
			c.note(at, `"oauth" of %s is not used, since "headers" have an Authorization`, where)
		}
	}
}

// scopes reads a list of scopes, or a string with all of them.
func (c *collector) scopes(where string, to *[]string) field {
	return func(v hujson.Value) {
		var lines, scopes []string
		c.list(where, &lines, c.text)(v)
		for _, line := range lines {
			scopes = append(scopes, strings.Fields(line)...)
		}
		*to = scopes
		for _, s := range scopes {
			if strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) >= 0 {
				c.fail(v.StartOffset, "%s: %s is not a scope", where, quote(s))
				return
			}
		}
	}
}

// metadataURL reads the address of a client ID metadata document.
func (c *collector) metadataURL(where string, to *string) field {
	return func(v hujson.Value) {
		if v.Value.Kind() != '"' {
			c.wrongType(v, where, "a string")
			return
		}
		c.text(where, to)(v)
		if u, err := url.Parse(*to); err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" {
			c.fail(v.StartOffset, `%s must be the address of a document, such as "https://host/client.json"`, where)
		} else {
			c.host(v, where, u)
		}
	}
}
