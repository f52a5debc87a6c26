package app

import (
	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// TenantOptions say how a broker for some of the clients differs from that of the others.
type TenantOptions struct {
	// Sources resolve the references of its servers.
	Sources config.Sources
	// Environ is the environment of what it starts; nil is that of this process.
	Environ func() []string
	// Apart reports whether it does not share a server with the others.
	Apart func(server string) bool
}

// OpenTenant returns a broker for some of the clients. It must be closed before s.
func (s *App) OpenTenant(cfg *config.Config, o TenantOptions) (*broker.Broker, error) {
	d := s.deps(cfg, o.Sources)
	if o.Environ != nil {
		d.Environ = o.Environ
	}
	d.Base, d.Warn = s.Root, nil
	d.Apart = func(c upstream.Config) bool { return o.Apart(c.Name) }
	note := NoteChanges(s.Audit)
	d.Pins = s.State.PinStore(cfg, s.options.Overrides, func(server, what string) {
		if o.Apart(server) { // the others are noted already
			note(server, what)
		}
	})
	return broker.New(d, s.options.Settings(s.Home(cfg), s.options.Logger))
}
