package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpbroker/mcpbroker/broker"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// flagHint says what to type instead of a flag that is wrong.
func flagHint(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if ok && cmd.Name() == "exec" && slices.Contains([]string{"e", "c", "p", "eval", "code", "print"}, unknown.GetSpecifiedName()) { // take code in other interpreters
		return "echo 'return 1 + 1' | broker exec -"
	}
	return cmd.CommandPath() + " --help"
}

const exitCodesHelp = `Exit codes:
  0   success
  1   failed
  2   wrong usage or config
  3   some servers failed
For exec and run, the script's own:
` + execCodesHelp

const execCodesHelp = `  0   success                 13  promise never settles
  1   the script threw        64  wrong usage or config
  2   refused before it ran   124 timeout
  3   waiting for approval    137 memory
                              130 cancelled`

// serveFlags are the flags that decide what clients get.
type serveFlags struct {
	mode     string
	readOnly bool
}

// overrides returns what the flags overrule.
func (f *serveFlags) overrides() application.Overrides {
	return application.Overrides{Mode: f.mode, ReadOnly: f.readOnly}
}

// add adds the flags to a command.
func (f *serveFlags) add(c *cobra.Command, a *env) {
	c.Flags().StringVar(&f.mode, "mode", "", "what clients see: code (default), tools or auto")
	c.Flags().StringVar(&a.skillsPath, "skills", "", "the folder of skills with public/ and custom/, instead of the config's")
	c.Flags().BoolVar(&f.readOnly, "read-only", false, "leave out every tool that is not marked read-only")
}

// checkMode refuses what --mode cannot be.
func checkMode(mode string) error {
	switch broker.Mode(mode) {
	case "", broker.ModeCode, broker.ModeTools, broker.ModeAuto:
		return nil
	}
	return cli.Usagef("unknown mode %q\nhint: --mode code, tools or auto", mode)
}

// secretsFlag adds the flag --secrets to a command that takes servers over.
func secretsFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "secrets", "", "what looks like a secret in env and headers: keyring moves it there, keep copies it\n(default: asked for on a terminal, else keep)")
}

// noIndexFlag is the flag that thenIndex obeys.
func noIndexFlag(c *cobra.Command, skip *bool) {
	c.Flags().BoolVar(skip, "no-index", false, "do not connect to the servers that were added")
}

// refreshFlag adds the flag --refresh to a command that reads stored listings.
func refreshFlag(c *cobra.Command, refresh *bool) {
	c.Flags().BoolVar(refresh, "refresh", false, "connect to the servers and list their tools anew first")
}
