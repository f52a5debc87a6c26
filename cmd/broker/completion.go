package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/policy"
)

// addCompletions makes shells complete the names that commands take.
func (a *app) addCompletions(root *cobra.Command) {
	clientNames := cobra.FixedCompletions(clients.IDs(), cobra.ShellCompDirectiveNoFileComp)
	clientOrFile := cobra.FixedCompletions(clients.IDs(), cobra.ShellCompDirectiveDefault)
	for path, complete := range map[string]cobra.CompletionFunc{
		"call": a.completeCall, "tools show": cli.FirstArg(a.completeTool), "run": a.completeRun,
		"scripts show": cli.FirstArg(a.completeScript), "scripts remove": cli.FirstArg(a.completeScript), "scripts save": cli.FirstArg(a.completeScript),
		"skills show": cli.FirstArg(a.completeSkill), "skills read": cli.FirstArg(a.completeSkill), "skills call": cli.FirstArg(a.completeSkill), "skills stats": cli.FirstArg(a.completeSkill),
		"skills enable": cli.FirstArg(a.completeSkill), "skills disable": cli.FirstArg(a.completeSkill), "skills approve": cli.FirstArg(a.completeSkill), "skills remove": cli.FirstArg(a.completeSkill),
		"wait": a.completeServer, "doctor": a.completeServer, "types learned show": cli.FirstArg(a.completeServer), "types learned reset": cli.FirstArg(a.completeServer),
		"import":       cli.FirstArg(clientOrFile),
		"servers list": cli.FirstArg(a.completeServer), "tools list": cli.FirstArg(a.completeServer), "servers remove": cli.FirstArg(a.completeServer), "servers test": cli.FirstArg(a.completeServer), "servers logs": cli.FirstArg(a.completeServer),
		"servers enable": cli.FirstArg(a.completeServer), "servers pin": cli.FirstArg(a.completeServer), "policy explain": cli.FirstArg(a.completeTool),
		"pins list": cli.FirstArg(a.completeServer), "pins diff": cli.FirstArg(a.completeServer), "pins approve": cli.FirstArg(a.completeServer), "pins block": cli.FirstArg(a.completeServer), "servers disable": cli.FirstArg(a.completeServer), "auth login": cli.FirstArg(a.completeServer), "auth logout": cli.FirstArg(a.completeServer),
		"install": cli.FirstArg(clientNames), "uninstall": cli.FirstArg(clientNames),
	} {
		if c, _, err := root.Find(strings.Fields(path)); err == nil {
			c.ValidArgsFunction = complete
		}
	}
	if c, _, err := root.Find([]string{"init"}); err == nil {
		_ = c.RegisterFlagCompletionFunc("client", clientNames)
	}
	a.recordCompletions(root)
	for _, path := range []string{"search", "tools list", "audit list", "tail", "audit tail"} {
		if c, _, err := root.Find(strings.Fields(path)); err == nil {
			_ = c.RegisterFlagCompletionFunc("server", a.completeServer) // the flag is there
		}
	}
}

func (a *app) completeServer(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if cfg, err := a.loadServers(); err == nil {
		for _, s := range cfg.Servers {
			list = cli.AddCompletion(list, typed, s.Name, s.Description)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeTool completes ids of tools, or SERVER.TOOL where a dot is typed.
func (a *app) completeTool(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, t := range a.cachedCatalog().Tools() {
		name := t.ID
		if strings.Contains(typed, ".") {
			name = t.Server + "." + t.Name
		}
		list = cli.AddCompletion(list, typed, name, t.Description)
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeCall completes the tool of a call, and then its parameters.
func (a *app) completeCall(cmd *cobra.Command, args []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeTool(cmd, args, typed)
	}
	t, ok := a.cachedCatalog().Tool(args[0])
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeInput(cli.ReadSchema(t.InputSchema), typed)
}

// completeRun completes the script of a run, and then its parameters.
func (a *app) completeRun(cmd *cobra.Command, args []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeScript(cmd, args, typed)
	}
	store, err := a.scriptStore()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := store.Load(args[0])
	if err != nil || s.Input == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeInput(cli.ReadSchema(s.Input.Schema), typed)
}

// completeScript completes names of saved scripts.
func (a *app) completeScript(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if store, err := a.scriptStore(); err == nil {
		scripts, _ := store.List()
		for _, s := range scripts {
			list = cli.AddCompletion(list, typed, s.Name, s.Description)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeSkill completes names of skills, as far as they are known without
// asking a server.
func (a *app) completeSkill(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	_ = a.withView(func(_ *application.Home, v *application.SkillView) error {
		for _, k := range v.Registry.Refresh().All() {
			list = cli.AddCompletion(list, typed, k.Ref, k.Description)
		}
		return nil
	})
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeInput completes KEY=VALUE by a schema.
func completeInput(s cli.Schema, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if key, _, value := strings.Cut(typed, "="); value {
		for _, v := range s.Property(key).Choices() {
			list = cli.AddCompletion(list, typed, key+"="+v, "")
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	properties := s.Resolved().Sub("properties")
	for _, name := range properties.Names() {
		list = cli.AddCompletion(list, typed, name+"=", properties.Sub(name).Text("description"))
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// cachedCatalog are the tools that are known without asking any server.
func (a *app) cachedCatalog() *discovery.Catalog {
	cfg, err := a.loadServers()
	if err != nil {
		return &discovery.Catalog{}
	}
	state, err := a.stateOf(cfg.Path)
	if err != nil {
		return &discovery.Catalog{}
	}
	servers := application.Upstreams(cfg)
	pool := upstream.NewPool(servers, &upstream.Options{CacheDir: application.CatalogueDir(state), Expand: expand})
	defer pool.Close()
	known := make(map[string]discovery.Listing)
	for _, l := range pool.Listings() {
		known[l.Server] = l
	}
	lists := application.ToolLists(cfg)
	var listings []discovery.Listing
	for _, s := range servers { // those that are not known have a name too
		l := known[s.Name]
		l.Server = s.Name
		listings = append(listings, lists.Filter(l))
	}
	catalog := discovery.NewCatalog(listings, application.Disabled(cfg)...)
	if !cfg.Broker.ReadOnly && !a.readOnly {
		return catalog
	}
	return catalog.Filter(func(t *discovery.Tool) bool {
		return policy.ReadOnly{}.Decide(policy.CallOf(t)).Effect != policy.Deny
	})
}
