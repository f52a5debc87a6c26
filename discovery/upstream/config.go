package upstream

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
)

const (
	defaultIdleTimeout = 10 * time.Minute
	defaultCallTimeout = 120 * time.Second
	defaultMaxInFlight = 16

	// A package runner may have to download a server first, for which 80 s were
	// measured on a busy machine, and more than 180 s beside other downloads; cut
	// off too early, it leaves half an installation behind.
	defaultStartTimeout       = link.StartTimeout
	defaultRunnerStartTimeout = 300 * time.Second
)

// Config is one upstream server as configured. Its values still hold ${VAR}
// references, which Options.Expand resolves each time the server is connected.
// Either Command or URL is set.
type Config struct {
	// Name is the server's key in the configuration, unique in a Pool.
	Name string
	// Scope tells apart what is kept of servers of one name that stand in different
	// files; empty for those of the user's own config.
	Scope string
	// Description replaces the server's description of itself.
	Description string

	// Command and Args start a server that speaks MCP on stdin and stdout.
	Command string
	Args    []string
	// Env is added to the short list of variables that every server gets.
	Env map[string]string
	// Dir is the working directory; empty means the broker's own.
	Dir string

	// AsWritten leaves Command to its package runner, even if that is npx or uvx and
	// Options.PackageDir is set.
	AsWritten bool

	// Permit is called before each start of Command; nil allows every start.
	Permit Permit

	// URL is the endpoint of a remote server.
	URL string
	// Headers are sent with each request to the URL's own origin, and to no
	// other one.
	Headers map[string]string
	// OAuth is for Options.OAuth; nothing else looks at it.
	OAuth OAuthClient
	// Credentials selects the credentials for calls of the server.
	Credentials Credentials
	// Type is "stdio", "http" (Streamable HTTP) or "sse". Empty means stdio for
	// a Command; for a URL, Streamable HTTP and then SSE if the server answers
	// the former with 400, 404 or 405.
	Type string

	// KeepAlive connects the server at Start, never stops it for being idle and
	// reconnects it when it is lost.
	KeepAlive bool
	// IdleTimeout is how long a server may be unused before it is stopped; zero
	// means 10 minutes.
	IdleTimeout time.Duration
	// StartTimeout is the time from the start of the process, after the installation of
	// its package, until its tools are listed; listing gets at least a quarter of it. A
	// server that stays silent or exits may be started once more, see package
	// link, with half as much time, at most 30 s. Zero means 60 s, and 300 s for
	// commands such as npx and uvx that may download the server.
	StartTimeout time.Duration
	// CallTimeout bounds one call, counted from when it is sent; zero means
	// 120 s.
	CallTimeout time.Duration
	// MaxInFlight is how many calls may run on an instance of the server at once;
	// further ones wait. Zero means 16, and 4 more for owners who have none running,
	// or 1 for servers that are known to lose what several calls write at once.
	MaxInFlight int
	// Instances is who shares an instance; empty decides by what is known of the
	// server, see Status.Sharing.
	Instances sharing.Kind

	folder   string // of an instance: the value of ${workspaceFolder}
	lent     bool   // Dir is that folder and not configured
	anyStart bool   // StartTimeout is a default
}

// A Permit decides before each start whether a program may start. Implementations must
// be comparable and safe for concurrent use.
type Permit interface {
	MayStart() error
}

// An OAuthClient is what the broker is to an authorization server. With the zero
// value it registers itself.
type OAuthClient struct {
	// ID and Secret are those of a client registered by hand. They may hold
	// references, which are not resolved here.
	ID, Secret string
	// Scopes are asked for instead of those that the server names.
	Scopes []string
	// CallbackPort is the port of the redirect address; zero takes a free one.
	CallbackPort int
	// CallbackHost is the host of that address; empty means 127.0.0.1, or localhost if
	// the server refuses that.
	CallbackHost string
	// Resource is the resource for which tokens are requested; "none" omits it.
	Resource string
	// MetadataURL is the address of a client ID metadata document.
	MetadataURL string
	// Issuer is the only authorization server that ID and Secret are for.
	Issuer string
	// TokenEndpoint exchanges tokens of people for tokens that are good for Audience.
	TokenEndpoint, Audience string
}

func (c Config) withDefaults() Config {
	if c.IdleTimeout <= 0 {
		c.IdleTimeout = defaultIdleTimeout
	}
	if c.StartTimeout <= 0 {
		c.StartTimeout, c.anyStart = defaultStartTimeout, true
		if launch.Runner(c.Command, c.Args) != "" {
			c.StartTimeout = defaultRunnerStartTimeout
		}
	}
	if c.CallTimeout <= 0 {
		c.CallTimeout = defaultCallTimeout
	}
	if c.MaxInFlight <= 0 {
		k, _, _ := sharing.Known(c.Command, c.Args)
		c.MaxInFlight = cmp.Or(k.MaxConcurrent, defaultMaxInFlight)
	}
	return c
}

// kind is the configured transport: "stdio", "http", "sse", or "" for a remote server
// with an unknown transport.
func (c Config) kind() string {
	switch {
	case c.Type != "":
		return c.Type
	case c.URL == "":
		return "stdio"
	}
	return ""
}

// described returns l described as configured.
func (c Config) described(l discovery.Listing) discovery.Listing {
	if c.Description != "" {
		l.Description = c.Description
	}
	return l
}

// fingerprint identifies what is started or dialled. It is made of references
// and names only, so that nothing secret can be learnt from it.
func (c Config) fingerprint() string {
	parts := []any{c.Name, c.Command, c.Args, slices.Sorted(maps.Keys(c.Env)), c.Dir, c.URL, c.Type}
	if c.Scope != "" {
		parts = append(parts, c.Scope)
	}
	b, _ := json.Marshal(parts) // strings and slices of them always marshal
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// revision distinguishes configurations with the same fingerprint. It is short, so that
// it reveals nothing about secret values.
func (c Config) revision() uint16 {
	parts := []any{c.fingerprint(), c.StartTimeout, c.AsWritten, c.Credentials}
	for _, m := range []map[string]string{c.Env, c.Headers} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, k, m[k])
		}
	}
	b, _ := json.Marshal(parts) // marshalling strings and numbers cannot fail
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint16(sum[:])
}

// key identifies c in a cache.
func (c Config) key() cache.Key {
	return cache.Key{Server: c.Name, ID: c.fingerprint(), Revision: c.revision()}
}

// direct reports whether the command is plain, whatever its references are: their
// values would become names of folders.
func (c Config) direct() bool {
	_, err := packages.Parse(c.Command, c.Args)
	return err == nil && !c.AsWritten
}
