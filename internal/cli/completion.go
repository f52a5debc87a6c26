package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// FirstArg completes the first argument of a command only.
func FirstArg(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, typed)
	}
}

// AddCompletion adds a name to list if it begins with what was typed. A name with
// something that steers a terminal is left out.
func AddCompletion(list []cobra.Completion, typed, name, description string) []cobra.Completion {
	if !strings.HasPrefix(name, typed) || gate.Terminal(name) != name || strings.Contains(name, "\t") {
		return list
	}
	return append(list, cobra.CompletionWithDesc(name, gate.Terminal(codegen.FirstSentence(description, 60))))
}

// InOrder keeps shells from sorting by name what is sorted by time.
const InOrder = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
