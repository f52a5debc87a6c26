package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/docs"
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

// pageWidth is how wide pages are where nobody says otherwise, and at most.
const pageWidth = 80

// helpCommand is "help" for commands and for the pages of the documentation. Where a
// command and a page have one name, the page has ".md" behind it.
func (a *app) helpCommand(root *cobra.Command) *cobra.Command {
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
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err == nil && len(rest) == 0 {
				return a.showHelp(cmd)
			}
			if len(args) == 1 {
				if page, ok := docs.Page(args[0]); ok {
					return a.showPage(page)
				}
			}
			return unknownName(strings.Join(args, " "), helpNames(root), "broker help lists commands and topics")
		},
	}
}

// helpNames are the names of commands and pages.
func helpNames(root *cobra.Command) []string {
	names := commandNames(root)
	for _, topic := range docs.Topics() {
		if c, _, err := root.Find([]string{topic.Name}); err == nil && c != root {
			topic.Name += ".md"
		}
		names = append(names, topic.Name)
	}
	return names
}

func (a *app) showHelp(cmd *cobra.Command) error {
	help := cmd.Help
	if !cmd.HasParent() {
		help = func() error { return a.rootHelp(cmd) }
	}
	if err := help(); err != nil {
		return err
	}
	if page := aboutCommand(cmd); page != "" {
		_, err := say(a.stdout, "\nRead more: broker help %s.md\n", page)
		return err
	}
	if cmd.HasParent() {
		return nil
	}
	var b strings.Builder
	group := ""
	for _, topic := range docs.Topics() {
		if topic.Group != group {
			group = topic.Group
			b.WriteString("\n" + group + " (broker help TOPIC.md):\n")
		}
		b.WriteString("  " + topic.Name + strings.Repeat(" ", max(1, 16-len(topic.Name))) + topic.Title + "\n")
	}
	_, err := say(a.stdout, "%s", lines(b.String()))
	return err
}

func (a *app) showPage(markdown string) error {
	width := pageWidth
	if own := widthOf(a.stdout); own > 0 {
		width = min(width, own)
	}
	_, err := say(a.stdout, "%s", lines(docs.Plain(markdown, width)))
	return err
}
