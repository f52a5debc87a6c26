package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A commandGroup is a heading and its commands.
type commandGroup struct {
	title string
	names []string
}

// commandGroups are the groups that "broker" lists. Other commands are named in one
// line.
var commandGroups = []commandGroup{
	{"Set up", []string{"init", "import", "install", "uninstall", "servers", "auth", "skills", "plugins", "profiles", "projects", "policy", "doctor"}},
	{"Use and look", []string{"search", "tools", "call", "exec", "run", "scripts", "index", "console", "top", "tail", "audit", "approvals", "runs", "pins"}},
	{"Serve", []string{"serve", "tokens", "daemon", "service"}},
}

const rootExamples = `  broker init                        # take over the servers of your clients, and connect the clients
  broker search send a message       # find a tool by what it does`

// groupCommands gives root a usage text of groups.
func groupCommands(root *cobra.Command) {
	var groups strings.Builder
	rest := []string{"completion"} // cobra adds it later
	for _, g := range commandGroups {
		groups.WriteString("\n" + g.title + ":\n")
		for _, name := range g.names {
			if c, _, err := root.Find([]string{name}); err == nil {
				groups.WriteString("  " + name + strings.Repeat(" ", max(1, 12-len(name))) + c.Short + "\n")
			}
		}
	}
	for _, c := range root.Commands() {
		grouped := slices.ContainsFunc(commandGroups, func(g commandGroup) bool { return slices.Contains(g.names, c.Name()) })
		if c.IsAvailableCommand() && !grouped {
			rest = append(rest, c.Name())
		}
	}
	slices.Sort(rest)
	usage := root.UsageTemplate()
	for _, c := range root.Commands() {
		c.SetUsageTemplate(usage)
	}
	root.SetUsageTemplate("Usage:\n  broker COMMAND [flags]\n" + groups.String() + "\nMore: " + strings.Join(rest, ", ") +
		"\n\nExamples:\n" + rootExamples + "\n\nFlags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}\n\n" +
		"broker COMMAND --help says more about a command; broker help lists the pages of the documentation.\n")
}

// templateHelp prints the help of a command by its template.
var templateHelp = new(cobra.Command).HelpFunc()

// setRootHelp makes rootHelp print the help of root.
func (a *app) setRootHelp(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd == root {
			a.rootHelp(root, "")
		} else {
			templateHelp(cmd, args)
		}
	})
}

// rootHelp prints the help of the program: the first command to run if there is no
// config, the commands, on request the pages of the documentation, and the exit codes.
func (a *app) rootHelp(root *cobra.Command, pages string) {
	if _, exists, err := config.Target(a.configPath); err == nil && !exists {
		cli.Fprintln(a.Out, "Begin with: broker init")
		cli.Fprintln(a.Out)
	}
	templateHelp(root, nil)
	if pages != "" {
		cli.Fprintf(a.Out, "%s", cli.Lines(pages))
	}
	cli.Fprintf(a.Out, "\n%s\n", cli.Lines(exitCodesHelp))
}

// printStarting says what the servers do that a daemon is starting.
func (a *app) printStarting() {
	path, exists, err := config.Target(a.configPath)
	if err != nil || !exists {
		return
	}
	state, err := config.StateDir(a.stateDir, path)
	if err != nil {
		return
	}
	printed := false
	for _, e := range application.DaemonServers(state) {
		if e.State == upstream.StateStarting || e.State == upstream.StateIdle { // which is about to
			cli.Fprintf(a.Out, "%s: %s, %s\n", e.Name, orStarting(string(e.Doing)), cli.Duration(time.Since(e.Since)))
			printed = true
		}
	}
	if printed {
		cli.Fprintln(a.Out, "broker servers list shows all servers")
		cli.Fprintln(a.Out)
	}
}
