package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "rewrite docs/commands.md, and what console blocks of docs show")

// docs/commands.md has what --help says of each command.
func TestCommandReference(t *testing.T) {
	root := (&app{}).root()
	root.InitDefaultHelpCmd()
	var b strings.Builder
	b.WriteString("# Commands\n\nEvery command with its flags. `go test ./cmd/broker -run CommandReference -update` writes this page from the program.\n\n" +
		"## All commands\n\nThese flags work with every command:\n\n")
	flagTable(&b, root.PersistentFlags())
	b.WriteString("\n```text\n" + exitCodesHelp + "\n```\n")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			describeCommand(&b, c, "##")
		}
	}
	const file = "../../docs/commands.md"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), b.String()); diff != "" {
		t.Errorf("go test ./cmd/broker -run CommandReference -update writes the page (-page +program):\n%s", diff)
	}
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
		if below.IsAvailableCommand() {
			describeCommand(b, below, "###")
		}
	}
}

// prose writes the text of a help; its indented lines are a block.
func prose(b *strings.Builder, text string) {
	block := false
	for line := range strings.SplitSeq(strings.TrimSpace(joined(text)), "\n") {
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
