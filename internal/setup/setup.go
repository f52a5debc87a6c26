// Package setup makes a broker known to MCP clients: it takes their servers over into
// servers.json, puts the broker into their files and takes it out again, and edits
// servers.json for a person.
package setup

import (
	"context"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/oauth"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Setup changes servers.json and the files of clients. All fields are required.
type Setup struct {
	*cli.IO
	ConfigPath string // of the flag --config; empty means the default
	StateDir   string // of the flag --state-dir, passed on to clients
	Profile    string // that clients are to use; may be empty

	Keyring func() oauth.Keyring
	Lookup  func(name string) (value string, ok bool) // reads the environment
	// CheckProfile returns the error for a config without the profile.
	CheckProfile func(*config.Config) error
	// Record records what a person has changed.
	Record func(*config.Config, state.Event)
	// Index connects to the added servers, or if nil to those that were never listed, and
	// calls print before or after that, unless skip is set.
	Index func(ctx context.Context, skip bool, added []string, print func(*api.IndexReport) error, known ...string) (*api.IndexReport, error)
	// StartDaemon starts the daemon, and reports whether one runs.
	StartDaemon func(context.Context) bool
}
