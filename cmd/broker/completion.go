package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/broker/script"
	"github.com/mcpbroker/mcpbroker/discovery"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/clients"
)

// add makes shells complete the names that commands take.
func (e completer) add(root *cobra.Command) {
	clientNames := cobra.FixedCompletions(clients.IDs(), cobra.ShellCompDirectiveNoFileComp)
	clientOrFile := cobra.FixedCompletions(clients.IDs(), cobra.ShellCompDirectiveDefault)
	for path, complete := range map[string]cobra.CompletionFunc{
		"call": e.completeCall, "tools show": cli.FirstArg(e.completeTool), "run": e.completeRun,
		"scripts show": cli.FirstArg(e.completeScript), "scripts remove": cli.FirstArg(e.completeScript), "scripts save": cli.FirstArg(e.completeScript),
		"skills show": cli.FirstArg(e.completeSkill), "skills read": cli.FirstArg(e.completeSkill), "skills call": cli.FirstArg(e.completeSkill), "skills stats": cli.FirstArg(e.completeSkill),
		"skills enable": cli.FirstArg(e.completeSkill), "skills disable": cli.FirstArg(e.completeSkill), "skills approve": cli.FirstArg(e.completeSkill), "skills remove": cli.FirstArg(e.completeSkill),
		"wait": e.completeServer, "doctor": e.completeServer, "types learned show": cli.FirstArg(e.completeServer), "types learned reset": cli.FirstArg(e.completeServer),
		"import":       cli.FirstArg(clientOrFile),
		"servers list": cli.FirstArg(e.completeServer), "tools list": cli.FirstArg(e.completeServer), "servers remove": cli.FirstArg(e.completeServer), "servers test": cli.FirstArg(e.completeServer), "servers logs": cli.FirstArg(e.completeServer),
		"servers enable": cli.FirstArg(e.completeServer), "servers pin": cli.FirstArg(e.completeServer), "policy explain": cli.FirstArg(e.completeTool),
		"pins list": cli.FirstArg(e.completeServer), "pins diff": cli.FirstArg(e.completeServer), "pins approve": cli.FirstArg(e.completeServer), "pins block": cli.FirstArg(e.completeServer), "servers disable": cli.FirstArg(e.completeServer), "auth login": cli.FirstArg(e.completeServer), "auth logout": cli.FirstArg(e.completeServer),
		"install": cli.FirstArg(clientNames), "uninstall": cli.FirstArg(clientNames),
	} {
		if c, _, err := root.Find(strings.Fields(path)); err == nil {
			c.ValidArgsFunction = complete
		}
	}
	if c, _, err := root.Find([]string{"init"}); err == nil {
		_ = c.RegisterFlagCompletionFunc("client", clientNames)
	}
	e.recordCompletions(root)
	for _, path := range []string{"search", "tools list", "audit list", "tail", "audit tail"} {
		if c, _, err := root.Find(strings.Fields(path)); err == nil {
			_ = c.RegisterFlagCompletionFunc("server", e.completeServer) // the flag is there
		}
	}
}

func (e completer) completeServer(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if cfg, err := e.loadServers(); err == nil {
		for _, s := range cfg.Servers {
			list = cli.AddCompletion(list, typed, s.Name, s.Description)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeTool completes ids of tools, or SERVER.TOOL where a dot is typed.
func (e completer) completeTool(cmd *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, t := range e.cachedCatalog(cmd).Tools() {
		name := t.ID
		if strings.Contains(typed, ".") {
			name = t.Server + "." + t.Name
		}
		list = cli.AddCompletion(list, typed, name, t.Description)
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeCall completes the tool of a call, and then its parameters.
func (e completer) completeCall(cmd *cobra.Command, args []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		return e.completeTool(cmd, args, typed)
	}
	t, ok := e.cachedCatalog(cmd).Tool(args[0])
	if !ok {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeInput(cli.ReadSchema(t.InputSchema), typed)
}

// completeRun completes the script of a run, and then its parameters.
func (e completer) completeRun(cmd *cobra.Command, args []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		return e.completeScript(cmd, args, typed)
	}
	var s *script.Script
	err := e.withScripts(contextOf(cmd), func(store script.Store) (err error) {
		s, err = store.Load(args[0])
		return err
	})
	if err != nil || s.Input == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeInput(cli.ReadSchema(s.Input.Schema), typed)
}

// completeScript completes names of saved scripts.
func (e completer) completeScript(cmd *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	_ = e.withScripts(contextOf(cmd), func(store script.Store) error {
		scripts, err := store.List()
		for _, s := range scripts {
			list = cli.AddCompletion(list, typed, s.Name, s.Description)
		}
		return err
	})
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeSkill completes names of skills, as far as they are known without
// asking a server.
func (e completer) completeSkill(_ *cobra.Command, _ []string, typed string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	_ = withView(e.env, func(_ *application.Home, v *application.SkillView) error {
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

// cachedCatalog returns the tools that are known without asking any server, and that cmd
// may show.
func (e completer) cachedCatalog(cmd *cobra.Command) *discovery.Catalog {
	readOnly, _ := cmd.Flags().GetBool("read-only") // some commands do not have it
	s := e.setup()
	return s.CachedCatalog(readOnly)
}
