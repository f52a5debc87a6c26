package main

import (
	"context"
	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/skills"
)

func (a *app) skillsRegisterCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "register NAME",
		Short: "Add the MCP server of a skill to servers.json",
		Long: "Add the MCP server that a skill brings along, its scripts/run, to servers.json: from then on the broker runs it like any other server.\n" +
			"Look at what it does before: it runs on this machine, as you.",
		Args: oneArg("the name of a skill"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSkill(cmd.Context(), args[0], func(_ *skillHome, k *skills.Skill) error { return a.registerOffer(cmd.Context(), k) })
		},
	}
}

func (a *app) registerOffer(ctx context.Context, k *skills.Skill) error {
	o, ok := k.Offer()
	switch {
	case !ok:
		return usage("skill %s has no MCP server of its own: its allowed-tools name no mcp__NAME__start", k.Ref)
	case o.Command == "":
		return usage("skill %s names the MCP server %s and does not contain it: there is no scripts/run in its folder\nhint: broker servers add %s -- COMMAND", k.Ref, o.Name, o.Name)
	}
	return a.addServer(ctx, o.Name, newServer{noIndex: true, description: oneLine(k.Description, 200), command: append([]string{o.Command}, o.Args...)})
}

// knownTool reports whether a server of the config has a tool, as far as its
// servers have been listed: of the others every tool is taken to be there. It is
// nil if there is no config, or one without servers.
func (a *app) knownTool() (func(id string) bool, error) {
	path, exists, err := config.Target(a.configPath)
	if err != nil || !exists {
		return nil, err
	}
	cfg, err := config.Load(path)
	if err != nil || len(cfg.Servers) == 0 {
		return nil, err
	}
	s, err := a.openAnyway(-1)
	if err != nil {
		return nil, err
	}
	tools := s.broker.Catalog()
	if err := s.close(); err != nil {
		return nil, err
	}
	return func(id string) bool {
		if _, ok := tools.Tool(id); ok {
			return true
		}
		server, ok := tools.ServerOf(id)
		return ok && len(server.Listing.Tools) == 0
	}, nil
}

// printOffers names the servers that skills bring along and that are not used.
func (a *app) printOffers(rows []skillRow) {
	registered := func(string) bool { return false }
	if path, exists, err := config.Target(a.configPath); err == nil && exists {
		if cfg, err := config.Load(path); err == nil {
			registered = func(name string) bool { return cfg.Server(name) != nil }
		}
	}
	for _, r := range rows {
		if r.Server != nil && r.Server.Command != "" && !registered(r.Server.Name) {
			say(a.stderr, "%s brings the MCP server %s along, which is not registered: broker skills register %s\n", r.Name, r.Server.Name, r.Name)
		}
	}
}
