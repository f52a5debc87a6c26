package upstream

import (
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
)

// State is the state of a server.
type State string

// The states of a server. A server that is not running can still be called if
// it is cached or stopped, and also, after a while, if it failed.
const (
	StateIdle        State = "idle"                 // configured, not known and not asked for yet
	StateCached      State = "cached"               // its tools are known from the cache; it starts with the first call
	StateStarting    State = "starting"             // being connected or listed for the first time
	StateReady       State = "ready"                // connected
	StateStopped     State = "stopped"              // was connected, and starts again with the next call
	StateFailed      State = cache.StateFailed      // could not be connected or listed
	StateNeedsSignIn State = cache.StateNeedsSignIn // refuses the broker's credentials, or wants some
)

// An Activity is the current step of a starting server.
type Activity string

// The activities of a starting server, in order.
const (
	ActivityQueued     Activity = "waiting for other packages"
	ActivityInstalling Activity = Activity(link.Installing)
	ActivityStarting   Activity = Activity(link.Starting)
	ActivityRestarting Activity = Activity(link.Restarting)
	ActivityListing    Activity = "listing its tools"
)

// Status is what a Pool knows about one server.
type Status struct {
	Name string
	// Transport is "stdio", "http" or "sse"; "http" also while it is not yet
	// known which of the two a remote server speaks.
	Transport string
	State     State
	// Err is why the server failed, was lost or could not be listed again. It
	// stays, with Hint, while a server that failed is tried again.
	Err error
	// Hint is a command or step that may help.
	Hint string
	// Since is when State was entered.
	Since time.Time
	// Doing is the activity of a starting server.
	Doing Activity
	// FailedAt is the time of Err, Failures the number of consecutive failures, also
	// for other brokers of this state directory, and RetryAt the time of the next
	// automatic attempt. A call may try it earlier. All are zero for a server that has
	// not failed.
	FailedAt time.Time
	Failures int
	RetryAt  time.Time
	// Took is how long the last successful connect and list took together.
	Took time.Duration
	// Tools is the number of tools that the server has.
	Tools int
	// PID is the server's process, or 0.
	PID int
	// Stderr is what the server wrote there last, at most 100 lines and 16 KiB.
	Stderr []string
	// Dropped are the last stdout lines that were not JSON-RPC messages.
	Dropped []string
	// Sharing is who shares an instance of the server, and SharingWhy the reason.
	Sharing    sharing.Kind
	SharingWhy string
	// Instances is how many are connected beside the shared one, which lists the
	// tools, and MaxConcurrent how many calls one of them gets at a time.
	Instances, MaxConcurrent int
	// Protocol and Version are as in discovery.Listing.
	Protocol, Version string
}

// An Elsewhere is the state of a server in another pool with the same CacheDir, such as
// that of a daemon.
type Elsewhere struct {
	Name string `json:"name"`
	// Key differs between configurations of a server.
	Key      string    `json:"key"`
	State    State     `json:"state"`
	Since    time.Time `json:"since"`
	Doing    Activity  `json:"doing,omitempty"`
	Error    string    `json:"error,omitempty"`
	Hint     string    `json:"hint,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	Failures int       `json:"failures,omitempty"`
	RetryAt  time.Time `json:"retry_at,omitzero"`
	// Took is the time that it took to connect and list the server.
	Took time.Duration `json:"took,omitempty"`
}

// maxElsewhereText bounds the texts of an Elsewhere, in characters.
const maxElsewhereText = 1000
