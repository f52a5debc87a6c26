package upstream

import (
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"time"
)

// State is where a server stands.
type State string

// The states of a server. A server that is not running can still be called if
// it is cached or stopped, and also, after a while, if it failed.
const (
	StateIdle        State = "idle"          // configured, not known and not asked for yet
	StateCached      State = "cached"        // its tools are known from the cache; it starts with the first call
	StateStarting    State = "starting"      // being connected or listed for the first time
	StateReady       State = "ready"         // connected
	StateStopped     State = "stopped"       // was connected, and starts again with the next call
	StateFailed      State = "failed"        // could not be connected or listed
	StateNeedsSignIn State = "needs sign-in" // refuses the broker's credentials, or wants some
)

// An Activity is what a server that is starting is waited for.
type Activity string

// The activities of a server that is starting, in their order.
const (
	ActivityQueued     Activity = "waiting for other packages"
	ActivityInstalling Activity = "installing a package"
	ActivityStarting   Activity = "starting"
	ActivityRestarting Activity = "starting once more"
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
	// Doing says more of a server that is starting.
	Doing Activity
	// FailedAt is when Err came about, and Failures how often in a row the server has
	// failed, also for other brokers of this state directory. It is not tried again
	// before RetryAt unless somebody names it. All are zero for one that has not failed.
	FailedAt time.Time
	Failures int
	RetryAt  time.Time
	// Took is how long the last successful connect and list took together.
	Took time.Duration
	// Tools is the number of tools that the server has.
	Tools int
	// PID is the server's process, 0 if there is none.
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
