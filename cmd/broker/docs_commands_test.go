package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpbroker/mcpbroker/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the pages of commands, and what console blocks of docs show")

// docs/commands.md lists every command, and the page of each group contains the --help
// of its commands. The list keeps the headings of the former single page, so that links
// to them still work.
func TestCommandReference(t *testing.T) {
	root := newRoot(&env{})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	written := make(map[string]string)
	var list strings.Builder
	list.WriteString("# Commands\n\nEvery command, with a link to its flags. " + writtenBy("this page and those of the groups") +
		"## All commands\n\nThese flags work with every command:\n\n")
	flagTable(&list, root.PersistentFlags())
	list.WriteString("\n```text\n" + exitCodesHelp + "\n```\n")
	for _, g := range referenceGroups(root) {
		page := "commands-" + g.page + ".md"
		var b strings.Builder
		fmt.Fprintf(&b, "# Commands: %s\n\n%s[commands.md](commands.md) lists all commands, the flags of every command, and exit codes.\n", strings.ToLower(g.title), writtenBy("this page"))
		fmt.Fprintf(&list, "\n## Commands: %s\n", strings.ToLower(g.title))
		for _, name := range g.names {
			c, _, err := root.Find([]string{name})
			if err != nil {
				t.Fatal(err)
			}
			describeCommand(&b, c, "##")
			listCommand(&list, c, page)
		}
		written[page] = b.String()
	}
	written["commands.md"] = list.String()
	for page, want := range written {
		file := "../../docs/" + page
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(got), want); diff != "" {
			t.Errorf("go test ./cmd/broker -run CommandReference -update writes %s (-page +program):\n%s", page, diff)
		}
	}
}

func writtenBy(what string) string {
	return "`go test ./cmd/broker -run CommandReference -update` writes " + what + " from the program.\n\n"
}

// referenceGroups returns the groups that "broker" lists, with their commands sorted.
// The last one has all other commands too, but for what writes packages.
func referenceGroups(root *cobra.Command) []commandGroup {
	groups := slices.Clone(commandGroups)
	last := &groups[len(groups)-1]
	for _, c := range root.Commands() {
		if (c.Runnable() || c.HasSubCommands()) && c.Name() != "man" && c.Name() != "help" && !slices.ContainsFunc(groups, func(g commandGroup) bool { return slices.Contains(g.names, c.Name()) }) {
			last.names = append(slices.Clone(last.names), c.Name())
		}
	}
	for i, g := range groups {
		groups[i].names = slices.Sorted(slices.Values(g.names))
	}
	return groups
}

// listCommand writes a line about a command, with a link to it and the names of its
// subcommands.
func listCommand(b *strings.Builder, c *cobra.Command, page string) {
	b.WriteString("\n### " + c.Name() + "\n\n" + c.Short + ". In full: [" + c.Name() + "](" + page + "#" + c.Name() + ")")
	mark := ", with "
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			b.WriteString(mark + "`" + below.Name() + "`")
			mark = ", "
		}
	}
	b.WriteString(".\n")
}

// describeCommand writes about a command, and about those below it.
func describeCommand(b *strings.Builder, c *cobra.Command, mark string) {
	b.WriteString("\n" + mark + " " + strings.TrimPrefix(c.CommandPath(), "broker ") + "\n\n")
	if page := aboutCommand(c); page != "" && mark == "##" {
		b.WriteString("See [" + page + ".md](" + page + ".md).\n\n")
	}
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	prose(b, text)
	if c.Runnable() && !c.HasAvailableSubCommands() {
		b.WriteString("\n```sh\n" + c.UseLine() + "\n```\n")
	}
	if c.HasAvailableLocalFlags() {
		b.WriteString("\n")
		flagTable(b, c.LocalNonPersistentFlags())
	}
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() && c.Name() != "completion" { // whose texts are cobra's
			describeCommand(b, below, "###")
		}
	}
}

// prose writes the text of a help; its indented lines are a block.
func prose(b *strings.Builder, text string) {
	block := false
	for line := range strings.SplitSeq(strings.TrimSpace(cli.JoinParagraphs(text)), "\n") {
		indented := strings.HasPrefix(line, "  ")
		if line != "" && indented != block {
			if b.WriteString("```"); indented {
				b.WriteString("text")
			}
			b.WriteString("\n")
			block = indented
		}
		if !block && strings.ContainsAny(line, "<|*") {
			line = strings.NewReplacer("<", `\<`, "|", `\|`, "*", `\*`).Replace(line)
		}
		b.WriteString(line + "\n")
	}
	if block {
		b.WriteString("```\n")
	}
}

func flagTable(b *strings.Builder, flags *pflag.FlagSet) {
	first := true
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if first {
			b.WriteString("| flag | |\n|---|---|\n")
			first = false
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + strings.ToUpper(value)
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" && !strings.Contains(usage, "default") {
			usage += " (default " + f.DefValue + ")"
		}
		b.WriteString("| `" + name + "` | " + strings.ReplaceAll(usage, "|", `\|`) + " |\n")
	})
}
