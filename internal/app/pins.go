package app

import (
	"cmp"
	"context"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/state"
)

// PinStore opens the pins of the servers of a config. changed is called with what differs
// from a pin; it may be nil.
func (st *State) PinStore(cfg *config.Config, o Overrides, changed func(server, what string)) *pins.Store {
	stored := apartPins{st.Pins(), make(map[string]string)}
	for _, s := range cfg.Servers {
		if s.File != "" {
			stored.file[s.Name] = s.File
		}
	}
	return pins.Open(stored, &pins.Options{Mode: o.pinMode(cfg), Verdicts: st.Verdicts, Logger: st.Logger, Changed: changed})
}

// apartPins keeps the pins of servers of projects apart from those of others that
// have their names, by the file that configures them.
type apartPins struct {
	pins state.Pins
	file map[string]string // by server
}

func (p apartPins) name(server string) string {
	if file := p.file[server]; file != "" {
		return server + "\x00" + file
	}
	return server
}

func (p apartPins) Pins(ctx context.Context, server string) (map[state.PinName]state.Pin, error) {
	return p.pins.Pins(ctx, p.name(server))
}

func (p apartPins) ChangePins(ctx context.Context, server string, change func(map[state.PinName]state.Pin) error) error {
	return p.pins.ChangePins(ctx, p.name(server), change)
}

func (p apartPins) PinsVersion(ctx context.Context, server string) string {
	version := p.pins.PinsVersion(ctx, p.name(server))
	if file := p.file[server]; file != "" && version != "" {
		version += " of " + file // the file was replaced by another one of the same name
	}
	return version
}

// NoteChanges returns a function that records how the tools of a server differ from their
// pins.
func NoteChanges(store state.AuditStore) func(server, what string) {
	return func(server, what string) {
		store.Note(state.Event{Kind: state.EventToolsChanged, Server: server, Detail: what})
	}
}

// pinMode returns what becomes of tools that differ from their pins.
func (o Overrides) pinMode(cfg *config.Config) pins.Mode {
	mode := pins.Mode(cmp.Or(cfg.Broker.Pins, string(pins.On)))
	if rules := o.rules(cfg); mode == pins.On && rules != nil && rules.Careful() {
		return pins.Careful
	}
	return mode
}
