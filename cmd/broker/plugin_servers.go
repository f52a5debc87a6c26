package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

// withPlugins is a config with the servers of the plugins that are switched on,
// each as plugin:server, behind its own. A name that the config has already is
// the config's. What is wrong with a plugin's servers is a note.
func withPlugins(cfg *config.Config) *config.Config {
	if merge := cfg.Broker.Plugins.AutoMergeMCP; merge != nil && !*merge {
		return cfg
	}
	plugins, _ := enabledPlugins(cfg)
	merged := *cfg
	merged.Servers, merged.Notes = slices.Clone(cfg.Servers), slices.Clone(cfg.Notes)
	for _, p := range plugins {
		for _, problem := range p.Problems {
			if problem.Code == "server_no_endpoint" || problem.Code == "bad_servers" {
				merged.Notes = append(merged.Notes, problem.Path+": "+problem.Message)
			}
		}
	}
	for _, s := range plugin.Servers(plugins, hasServer(cfg)) {
		entry, err := pluginServer(s)
		if err != nil {
			merged.Notes = append(merged.Notes, fmt.Sprintf("server %s of a plugin is left out: %s", s.Name, oneLine(err.Error(), 300)))
			continue
		}
		merged.Servers = append(merged.Servers, entry)
	}
	return &merged
}

// hasServer returns a function that reports whether a config has a server of its
// own of that name.
func hasServer(cfg *config.Config) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Name == name && !s.OfPlugin })
	}
}

// enabledPlugins are the plugins of a config that are switched on, and what is
// wrong with plugins.
func enabledPlugins(cfg *config.Config) ([]*plugin.Plugin, []skills.Problem) {
	h := homeOf(cfg)
	return library.EnabledPlugins(h.plugins, h.switches, cfg.Broker.Plugins.Enabled)
}

// pluginServer reads a server of a plugin as if it stood in the config.
func pluginServer(s plugin.Server) (config.Server, error) {
	doc, err := json.Marshal(map[string]any{"mcpServers": map[string]json.RawMessage{s.Name: s.Config}})
	if err != nil {
		return config.Server{}, err
	}
	one, err := config.Parse("plugin "+strings.SplitN(s.Name, ":", 2)[0], doc)
	if err != nil {
		return config.Server{}, err
	}
	if len(one.Servers) != 1 {
		return config.Server{}, errors.New("it is no server")
	}
	one.Servers[0].OfPlugin = true
	return one.Servers[0], nil
}

// pluginCommands are the commands of the plugins that are switched on.
func pluginCommands(cfg *config.Config) []plugin.Command {
	plugins, _ := enabledPlugins(cfg)
	var list []plugin.Command
	for _, p := range plugins {
		list = append(list, p.Commands...)
	}
	return list
}

// pluginState tells one state of the plugins' servers and commands from another.
func pluginState(cfg *config.Config) string {
	plugins, _ := enabledPlugins(cfg)
	text, err := json.Marshal(plugins)
	if err != nil {
		return err.Error() // it is made of our own types
	}
	return string(text)
}
