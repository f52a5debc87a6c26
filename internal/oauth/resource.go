package oauth

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

// normal returns the canonical form of an address: scheme and host in lower case, no
// default port, no slash at the end. It returns "" for other texts.
func normal(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return ""
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[scheme]; port != "" {
		host = strings.TrimSuffix(host, port)
	}
	text := scheme + "://" + host + strings.TrimSuffix(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		text += "?" + u.RawQuery
	}
	return text
}

// sameAddress reports whether a and b are the same address in different spellings.
func sameAddress(a, b string) bool {
	n := normal(a)
	return a == b || n != "" && n == normal(b)
}

const wellKnownResource = "/.well-known/oauth-protected-resource"

// isResource reports whether a token for resource may be sent to server. at is the
// address of the metadata that names resource. A resource is the server itself or a
// parent of its path; a parent is accepted only if at is a well-known address of the
// server's host, where the owner of a single path cannot write.
func isResource(resource, at, server string) bool {
	if sameAddress(resource, server) {
		return true
	}
	m, err := url.Parse(at)
	s, bad := url.Parse(server)
	if err != nil || bad != nil || !outbound.SameOrigin(m, s) || m.Path != wellKnownResource && !strings.HasPrefix(m.Path, wellKnownResource+"/") {
		return false
	}
	s.RawQuery, s.Fragment = "", ""
	above := normal(resource)
	return above != "" && strings.HasPrefix(normal(s.String())+"/", above+"/")
}

// A challenge is the part of a refusal that describes the sign-in.
type challenge struct {
	Metadata string   `json:"metadata,omitempty"` // address of the server's metadata
	Scopes   []string `json:"scopes,omitempty"`   // required scopes
}

func (c challenge) equal(d challenge) bool {
	return c.Metadata == d.Metadata && slices.Equal(c.Scopes, d.Scopes)
}

// maxMetadataAddress bounds an address that a server names.
const maxMetadataAddress = 2000

var (
	looseMetadata = lazyregexp.New(`(?i)\bresource_metadata\s*=\s*["']?([^"',\s]+)`)
	looseScope    = lazyregexp.New(`(?i)\bscope\s*=\s*["']([^"']*)["']`)
)

// challengeOf reads the header WWW-Authenticate of a 401 or 403. It searches a header
// that does not follow the grammar, for example one with an unquoted address.
func challengeOf(h http.Header) challenge {
	var c challenge
	values := h.Values("WWW-Authenticate")
	parsed, err := oauthex.ParseWWWAuthenticate(values)
	for _, p := range parsed {
		if p.Scheme == "bearer" {
			c.Scopes = union(c.Scopes, cleanScopes(strings.Fields(p.Params["scope"])))
		}
		if c.Metadata == "" {
			c.Metadata = p.Params["resource_metadata"]
		}
	}
	if text := strings.Join(values, ", "); err != nil || c.Metadata == "" {
		if m := looseMetadata.FindStringSubmatch(text); m != nil {
			c.Metadata = m[1]
		}
		if m := looseScope.FindStringSubmatch(text); m != nil && len(c.Scopes) == 0 {
			c.Scopes = cleanScopes(strings.Fields(m[1]))
		}
	}
	if len(c.Metadata) > maxMetadataAddress {
		c.Metadata = ""
	}
	return c
}

// metadataAt returns the address of the metadata that a server names. An address
// without a host is on the server's own host. On that host http becomes https if the
// server uses that: a server behind a proxy may not know its scheme.
func metadataAt(named, server string) string {
	s, err := url.Parse(server)
	if err != nil {
		return named
	}
	u, err := s.Parse(named)
	if err != nil {
		return named
	}
	if s.Scheme == "https" && u.Scheme == "http" && strings.EqualFold(u.Hostname(), s.Hostname()) && (u.Port() == "" || u.Port() == s.Port()) {
		u.Scheme = "https"
	}
	return u.String()
}
