package upstream

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Talker answers the questions of a server for the caller of a call.
type Talker = link.Talker

// CallOptions are optional properties of a call.
type CallOptions = link.CallOptions

// An InputError means that a call failed because a question of its server was not
// answered.
type InputError = link.InputError

// Options are the settings of a Pool. The zero value works.
type Options struct {
	// Logger gets what happens to connections, never arguments or results; nil
	// discards it.
	Logger *slog.Logger
	// CacheDir is where listings are kept between runs; it is created if need
	// be, and several pools may share it. Empty keeps none.
	CacheDir string
	// Listings keeps listings for several brokers together, in the place of CacheDir
	// while it can; nil for a broker by itself. Lists reports whether this one
	// connects to servers that were never listed without anybody needing them; others
	// wait for it. Nil does always.
	Listings Listings
	Lists    func() bool
	// PackageDir is the folder for packages that a Command would run with npx or uvx,
	// so that it runs without these; several pools may share it. If empty, every
	// Command runs unchanged.
	PackageDir string
	// KeepPackages starts the installed versions of packages and does not look for
	// newer ones.
	KeepPackages bool
	// Review returns what the pins would newly hold back of the listing of a newer
	// version of a server's package. If the result is not empty, the version is not
	// used until a person accepts it. Nil accepts every version.
	Review func(discovery.Listing) []discovery.Held
	// Expand resolves the ${VAR} references in a configured value; nil leaves values
	// unchanged. It must be safe for concurrent use.
	Expand func(string) (string, error)
	// Environ returns the environment from which servers inherit a few variables, such
	// as PATH; nil means os.Environ. It must be safe for concurrent use.
	Environ func() []string
	// Folder returns the value of ${workspaceFolder} for instances without a client,
	// such as the one that lists the tools; while it is empty, such instances cannot be
	// started. Nil means always empty. It must be safe for concurrent use.
	Folder func() string
	// OAuth returns the handler that signs the requests to a remote server at url, with
	// every reference resolved; a nil handler signs none. It is called once for each
	// address of a server, and not for servers with an Authorization header. The
	// handler must be safe for concurrent use. If OAuth is nil, no server is signed in
	// to.
	OAuth func(server Config, url string) (auth.OAuthHandler, error)
	// People is how servers are reached on behalf of people; nil means that those with
	// their own Credentials cannot be called.
	People People
	// PersonalProcesses bounds the processes that run for people, of all servers
	// together; zero means 128. An unused process makes room for another.
	PersonalProcesses int
	// OnListing is called, by one goroutine at a time, when the tools of a server
	// are known for the first time, also from the cache inside NewPool, and when
	// they changed. It must not call Close.
	OnListing func(discovery.Listing)
	// OnEnd is called when a connection to a server has ended, with how long it was
	// there; cause is nil if this side ended it.
	OnEnd func(server, transport string, lasted time.Duration, cause error)
	// Base is a pool whose servers this one uses in place of its own, if they have the
	// same configuration; Apart reports exceptions, such as a server with references
	// that have other values here. Close this pool before Base. Both may be nil.
	Base  *Pool
	Apart func(Config) bool
	// Capabilities are what servers may ask of the clients that call them. Some list more tools
	// then, so pools that share a CacheDir should have the same.
	Capabilities questions.Capabilities
	// Guard runs, on Linux, a small process that kills the remaining processes of
	// servers after this process was killed: see launch.NewGuard.
	Guard bool
	// Implementation is how the broker names itself to servers; nil means
	// "mcpbroker".
	Implementation *mcp.Implementation
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	if out.Expand == nil {
		out.Expand = func(s string) (string, error) { return s, nil }
	}
	if out.Environ == nil {
		out.Environ = os.Environ
	}
	if out.Apart == nil {
		out.Apart = func(Config) bool { return false }
	}
	if out.Folder == nil {
		out.Folder = func() string { return "" }
	}
	if out.OnListing == nil {
		out.OnListing = func(discovery.Listing) {}
	}
	if out.OnEnd == nil {
		out.OnEnd = func(string, string, time.Duration, error) {}
	}
	if out.Implementation == nil {
		out.Implementation = &mcp.Implementation{Name: "mcpbroker", Version: "0"}
	}
	return out
}

// Listings are listings that the pools of several brokers share, under keys that
// identify the configuration of a server. They are safe for concurrent use.
type Listings interface {
	// Listings returns what is kept under keys, without those that have nothing.
	Listings(ctx context.Context, keys []string) (map[string][]byte, error)
	// SetListing keeps a listing for all.
	SetListing(ctx context.Context, key string, listing []byte) error
	// Follow calls heard with each key under which something else is kept, and with
	// "" when that may be any, or Options.Lists has changed, until stop is called.
	// heard does not block.
	Follow(heard func(key string)) (stop func())
}
