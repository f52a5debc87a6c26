package main

import (
	"cmp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// consoleServers changes the servers of the config for the console.
type consoleServers struct {
	file config.ServerFile
	live func() *config.Config // the config in force
}

// Disabled implements api.ServerConfig.
func (c consoleServers) Disabled() (list []broker.ServerInfo) {
	for _, s := range c.live().Servers {
		if s.Disabled {
			list = append(list, broker.ServerInfo{Name: s.Name, Description: s.Description, Transport: cmp.Or(s.Type, "http")})
		}
	}
	return list
}

// Add implements api.ServerConfig.
func (c consoleServers) Add(n api.NewServer) (notes []string, err error) {
	entry := config.EntryOf(config.Server{Description: n.Description, Type: n.Type, Command: n.Command, Args: n.Args, URL: n.URL, Env: n.Env, Headers: n.Headers, Disabled: n.Disabled})
	if err := c.file.Add(n.Name, entry); err != nil {
		return nil, err
	}
	return setup.ClientOptions().SecretNotes(n.Name, entry), nil
}

// Enable implements api.ServerConfig.
func (c consoleServers) Enable(name string, on bool) error { return c.file.Enable(name, on) }
