package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A commandGroup is a heading, the page of its commands, and their names.
type commandGroup struct {
	title, page string
	names       []string
}

// commandGroups are the groups that "broker" lists: the first page has at most 30
// commands. "broker help commands" lists all.
var commandGroups = []commandGroup{
	{"Set up", "setup", []string{"init", "import", "install", "uninstall", "servers", "auth", "skills", "plugins", "doctor"}},
	{"Use", "use", []string{"search", "tools", "call", "exec", "run", "scripts"}},
	{"Look", "look", []string{"console", "top", "audit", "runs"}},
	{"Keep safe", "safe", []string{"policy", "approvals", "pins", "profiles", "projects"}},
	{"Run for many", "many", []string{"serve", "daemon", "service", "tokens"}},
	{"Tools", "tools", []string{"index", "types"}},
}

const rootExamples = `  broker init                        # take over the servers of your clients, and connect the clients
  broker search send a message       # find a tool by what it does`

// groupCommands gives root a usage text of groups.
func groupCommands(root *cobra.Command) {
	var groups strings.Builder
	for _, g := range commandGroups {
		groups.WriteString("\n" + g.title + ":\n")
		for _, name := range g.names {
			if c, _, err := root.Find([]string{name}); err == nil {
				groups.WriteString("  " + name + strings.Repeat(" ", max(1, 12-len(name))) + c.Short + "\n")
			}
		}
	}
	usage := root.UsageTemplate()
	for _, c := range root.Commands() {
		c.SetUsageTemplate(usage)
	}
	root.SetUsageTemplate("Usage:\n  broker COMMAND [flags]\n" + groups.String() + "\nExamples:\n" + rootExamples + "\n\nFlags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}\n\n" +
		"broker help commands lists all commands, broker COMMAND --help says more about one; broker help lists the pages of the documentation.\n")
}

// templateHelp prints the help of a command by its template.
var templateHelp = new(cobra.Command).HelpFunc()

// setRootHelp makes rootHelp print the help of root.
func setRootHelp(e *env, root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd == root {
			rootHelp(e, root, "")
		} else {
			templateHelp(cmd, args)
		}
	})
}

// rootHelp prints the help of the program: the first command to run if there is no
// config, the commands, on request the pages of the documentation, and the exit codes.
func rootHelp(e *env, root *cobra.Command, pages string) {
	if _, exists, err := config.Target(e.configPath); err == nil && !exists {
		cli.Fprintln(e.Out, cli.Hint("Begin with: broker init"))
		cli.Fprintln(e.Out)
	}
	templateHelp(root, nil)
	if pages != "" {
		cli.Fprintf(e.Out, "%s", cli.Lines(pages))
	}
	cli.Fprintf(e.Out, "\n%s\n", cli.Lines(exitCodesHelp))
}

// printStarting says what the servers do that a daemon is starting.
func printStarting(e *env) {
	path, exists, err := config.Target(e.configPath)
	if err != nil || !exists {
		return
	}
	state, err := config.StateDir(e.stateDir, path)
	if err != nil {
		return
	}
	printed := false
	for _, server := range application.DaemonServers(state) {
		if server.State == upstream.StateStarting || server.State == upstream.StateIdle { // which is about to
			cli.Fprintf(e.Out, "%s: %s, %s\n", server.Name, cli.OrStarting(string(server.Doing)), cli.Duration(time.Since(server.Since)))
			printed = true
		}
	}
	if printed {
		cli.Fprintln(e.Out, cli.Hint("broker servers list shows all servers"))
		cli.Fprintln(e.Out)
	}
}
