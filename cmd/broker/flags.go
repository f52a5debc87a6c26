package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagHint says what to type instead of a flag that is wrong.
func flagHint(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if ok && cmd.Name() == "exec" && slices.Contains([]string{"e", "c", "p", "eval", "code", "print"}, unknown.GetSpecifiedName()) { // take code in other interpreters
		return "echo 'return 1 + 1' | broker exec -"
	}
	return cmd.CommandPath() + " --help"
}
