package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/docs"
	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// pageOf are the pages about commands that have another name.
var pageOf = map[string]string{
	"init": "quickstart", "import": "quickstart", "install": "quickstart", "uninstall": "quickstart",
	"daemon": "serve", "service": "serve", "wait": "serve",
	"exec": "code", "run": "code", "scripts": "code", "types": "code", "store": "code", "call": "code",
	"eval": "search", "tools": "search", "index": "search", "runs": "approvals", "tail": "audit", "redact": "security", "pins": "approvals", "auth": "servers",
	"projects": "profiles", "plugins": "skills", "sandbox": "security", "sandboxd": "remote", "doctor": "troubleshooting",
}

// aboutCommand is the page about a command, or empty.
func aboutCommand(cmd *cobra.Command) string {
	for cmd.HasParent() && cmd.Parent().HasParent() {
		cmd = cmd.Parent()
	}
	name := cmd.Name()
	if page, ok := pageOf[name]; ok {
		name = page
	}
	if _, ok := docs.Page(name); !ok || !cmd.HasParent() {
		return ""
	}
	return name
}

// pageWidth is the default and maximum width of pages.
const pageWidth = 80

// helpCommand is "help" for commands and for the pages of the documentation. Where a
// command and a page have one name, the page has ".md" behind it.
func helpCommand(e *env, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND|TOPIC]", Short: "Show help for a command, or a page of the documentation",
		Long: "Show help for a command, or a page of the documentation. If both have the same name, TOPIC.md is the page.",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if len(args) == 0 {
				names = helpNames(root)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return runHelp(e, root, args) },
	}
}

func runHelp(e *env, root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err == nil && len(rest) == 0 {
		return showHelp(e, cmd)
	}
	if len(args) == 1 {
		if page, ok := docs.Page(args[0]); ok {
			return showPage(e, page)
		}
	}
	return cli.UnknownName(strings.Join(args, " "), helpNames(root), "broker help lists commands and topics")
}

// helpNames are the names of commands and pages.
func helpNames(root *cobra.Command) []string {
	names := cli.CommandNames(root)
	for _, topic := range docs.Topics() {
		names = append(names, helpName(root, topic.Name))
	}
	return names
}

// helpName returns the name of a page for "broker help": with ".md" if a command has the
// same name.
func helpName(root *cobra.Command, page string) string {
	if c, _, err := root.Find([]string{page}); err == nil && c != root {
		return page + ".md"
	}
	return page
}

func showHelp(e *env, cmd *cobra.Command) error {
	if !cmd.HasParent() {
		rootHelp(e, cmd, pageList(cmd))
		return nil
	}
	if err := cmd.Help(); err != nil {
		return err
	}
	if page := aboutCommand(cmd); page != "" {
		_, err := cli.Fprintf(e.Out, "\nRead more: broker help %s.md\n", page)
		return err
	}
	return nil
}

// pageList lists the pages of the documentation, by their names for "broker help".
func pageList(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("\nPages, such as broker help quickstart:\n")
	group := ""
	for _, topic := range docs.Topics() {
		if topic.Group != group {
			group = topic.Group
			b.WriteString("\n" + group + ":\n")
		}
		name := helpName(root, topic.Name)
		b.WriteString("  " + name + strings.Repeat(" ", max(1, 18-len(name))) + topic.Title + "\n")
	}
	return b.String()
}

func showPage(e *env, markdown string) error {
	width := pageWidth
	if own := cli.Width(e.Out); own > 0 {
		width = min(width, own)
	}
	_, err := cli.Fprintf(e.Out, "%s", cli.Lines(docs.Plain(markdown, width)))
	return err
}
