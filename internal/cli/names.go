package cli

import (
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/nearest"
)

// KnownServer finds the server that a command names, or says which is nearest.
func KnownServer(cfg *config.Config, name, command string) (*config.Server, error) {
	if s := cfg.Server(name); s != nil {
		return s, nil
	}
	return nil, UnknownServer(cfg, name, "servers "+command)
}

// UnknownServer says that no server has this name, with the nearest that one has.
func UnknownServer(cfg *config.Config, name, command string) error {
	var known []string
	for _, s := range cfg.Servers {
		known = append(known, s.Name)
	}
	if near := nearest.Names(name, known, 1); len(near) > 0 {
		return Usagef("unknown server %q in %s\nhint: did you mean %q?", name, command, near[0])
	}
	return Usagef("unknown server %q in %s\nhint: broker servers list", name, command)
}
