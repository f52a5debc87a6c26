package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/clients"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
)

// addCompletions makes shells complete the names that commands take.
func (a *app) addCompletions(root *cobra.Command) {
	clientNames := cobra.FixedCompletions(clients.IDs(), cobra.ShellCompDirectiveNoFileComp)
	clientOrFile := cobra.FixedCompletions(clients.IDs(), cobra.ShellCompDirectiveDefault)
	for path, complete := range map[string]cobra.CompletionFunc{
		"call": a.completeCall, "tools show": first(a.completeTool), "run": a.completeRun,
		"scripts show": first(a.completeScript), "scripts remove": first(a.completeScript), "scripts save": first(a.completeScript),
		"skills show": first(a.completeSkill), "skills read": first(a.completeSkill), "skills call": first(a.completeSkill), "skills stats": first(a.completeSkill),
		"skills enable": first(a.completeSkill), "skills disable": first(a.completeSkill), "skills approve": first(a.completeSkill), "skills remove": first(a.completeSkill),
		"wait": a.completeServer, "doctor": a.completeServer, "types learned show": first(a.completeServer), "types learned reset": first(a.completeServer),
		"import":       first(clientOrFile),
		"servers list": first(a.completeServer), "tools list": first(a.completeServer), "servers remove": first(a.completeServer), "servers test": first(a.completeServer), "servers logs": first(a.completeServer),
		"servers enable": first(a.completeServer), "servers pin": first(a.completeServer), "policy explain": first(a.completeTool),
		"pins list": first(a.completeServer), "pins diff": first(a.completeServer), "pins approve": first(a.completeServer), "pins block": first(a.completeServer), "servers disable": first(a.completeServer), "auth login": first(a.completeServer), "auth logout": first(a.completeServer),
		"install": first(clientNames), "uninstall": first(clientNames),
	} {
		if c, _, err := root.Find(strings.Fields(path)); err == nil {
			c.ValidArgsFunction = complete
		}
	}
	if c, _, err := root.Find([]string{"init"}); err == nil {
		_ = c.RegisterFlagCompletionFunc("client", clientNames)
	}
	a.recordCompletions(root)
	for _, path := range []string{"search", "tools list", "audit list", "tail"} {
		if c, _, err := root.Find(strings.Fields(path)); err == nil {
			_ = c.RegisterFlagCompletionFunc("server", a.completeServer) // the flag is there
		}
	}
}

// first completes the first argument of a command only.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, typed)
	}
}

func (a *app) completeServer(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if cfg, err := a.loadServers(); err == nil {
		for _, s := range cfg.Servers {
			list = completion(list, typed, s.Name, s.Description)
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
		list = completion(list, typed, name, t.Description)
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
	return completeInput(readSchema(t.InputSchema), typed)
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
	return completeInput(readSchema(s.Input.Schema), typed)
}

// completeScript completes names of saved scripts.
func (a *app) completeScript(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if store, err := a.scriptStore(); err == nil {
		scripts, _ := store.List()
		for _, s := range scripts {
			list = completion(list, typed, s.Name, s.Description)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeSkill completes names of skills, as far as they are known without
// asking a server.
func (a *app) completeSkill(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	_ = a.withView(func(_ *skillHome, v *skillView) error {
		for _, k := range v.registry.Refresh().All() {
			list = completion(list, typed, k.Ref, k.Description)
		}
		return nil
	})
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeInput completes KEY=VALUE by a schema.
func completeInput(s schema, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if key, _, value := strings.Cut(typed, "="); value {
		for _, v := range s.property(key).choices() {
			list = completion(list, typed, key+"="+v, "")
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	properties := s.resolved().sub("properties")
	for _, name := range properties.names() {
		list = completion(list, typed, name+"=", properties.sub(name).text("description"))
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completion adds a name to list if it begins with what was typed. A name with
// something that steers a terminal is left out.
func completion(list []cobra.Completion, typed, name, description string) []cobra.Completion {
	if !strings.HasPrefix(name, typed) || gate.Terminal(name) != name || strings.Contains(name, "\t") {
		return list
	}
	return append(list, cobra.CompletionWithDesc(name, gate.Terminal(codegen.FirstSentence(description, 60))))
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
	servers := upstreams(cfg)
	pool := upstream.NewPool(servers, &upstream.Options{CacheDir: catalogueDir(state), Expand: expand})
	defer pool.Close()
	known := make(map[string]discovery.Listing)
	for _, l := range pool.Listings() {
		known[l.Server] = l
	}
	lists := toolLists(cfg)
	var listings []discovery.Listing
	for _, s := range servers { // those that are not known have a name too
		l := known[s.Name]
		l.Server = s.Name
		listings = append(listings, lists.Filter(l))
	}
	catalog := discovery.NewCatalog(listings, disabled(cfg)...)
	if !cfg.Broker.ReadOnly && !a.readOnly {
		return catalog
	}
	return catalog.Filter(func(t *discovery.Tool) bool {
		return policy.ReadOnly{}.Decide(policy.CallOf(t)).Effect != policy.Deny
	})
}
