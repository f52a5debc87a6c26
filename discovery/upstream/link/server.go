package link

import (
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/hide"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/discovery/questions"
)

// StartTimeout is how long an installed server may take to start. It starts within
// seconds even on a busy machine.
const StartTimeout = 60 * time.Second

// A Server is how one server is connected, as it is configured.
type Server struct {
	Name string
	// Type is "stdio", "http" (Streamable HTTP), "sse", or "" for a remote server with an
	// unknown transport.
	Type string
	// Command and Args are shown in advice, and may hold references.
	Command string
	Args    []string

	// Timeout bounds one attempt. After a package is installed it is StartTimeout, if
	// ShortInstalled is set.
	Timeout        time.Duration
	ShortInstalled bool
	// Plain is set if a package that a package runner would run may run without it, and
	// OwnDir if the program starts in a folder whose code it may use.
	Plain, OwnDir bool

	// Resolve returns what to start or dial, with each reference resolved. It is called
	// for each attempt.
	Resolve func() (*Target, error)
	// OAuth returns the handler that signs requests to url, or nil.
	OAuth func(url string) (auth.OAuthHandler, error)
	// MayStart is called directly before each start of a process; nil allows it.
	MayStart func() error
}

// A Target is what is started or dialled. It lives as long as one connection attempt, and
// nothing of it reaches the disk, a log or an error unhidden.
type Target struct {
	launch.Command
	URL     string
	Headers map[string]string
	Hide    *hide.Hider
}

// A Client is what the broker is to servers.
type Client struct {
	Implementation *mcp.Implementation
	// Capabilities are what servers may ask of the clients that call them.
	Capabilities questions.Capabilities
	Logger       *slog.Logger
}

// Programs are what the processes of all servers share.
type Programs struct {
	Guard    *launch.Guard
	Packages *packages.Store // may be nil
	Runners  *packages.RunnerFolder
}

// A Step is what an attempt to connect is doing.
type Step string

// The steps of an attempt.
const (
	Installing Step = "installing a package"
	Starting   Step = "starting"
	Restarting Step = "starting once more"
)
