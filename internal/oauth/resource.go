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

// normal is an address as others of the same meaning are written too: scheme and host
// in lower case, no default port, no slash at the end. It is empty for what is not an
// address.
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

// sameAddress reports whether a and b are the same address, however they are written.
func sameAddress(a, b string) bool {
	n := normal(a)
	return a == b || n != "" && n == normal(b)
}

const wellKnownResource = "/.well-known/oauth-protected-resource"

// isResource reports whether a token for resource, which metadata at the address at
// names, may be sent to server: it is the server itself, or what the server's path is
// below, if that is said at the well-known place of the server's host. Whoever has one
// path of a host cannot write there.
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

// A challenge is what a server says of the sign-in when it refuses a request.
type challenge struct {
	Metadata string   `json:"metadata,omitempty"` // the address of its metadata
	Scopes   []string `json:"scopes,omitempty"`   // that the request needs
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

// challengeOf reads the header of an answer of 401 or 403. One that does not follow
// the grammar, such as with an address that is not quoted, is searched for what it
// names.
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

// metadataAt is the address of metadata that a server names: one without a host is the
// server's own, and a server behind a proxy may not know that it is reached by https.
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
