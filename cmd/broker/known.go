package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// showing are the commands of groups that show one thing, the best first.
var showing = []string{"show", "explain", "diff", "list", "test"}

// showsKnown returns the command line of a group that shows the known thing of a name,
// such as "broker tools show ID"; it is empty if the name is unknown. Shells complete the
// same names, and so it starts no server.
func showsKnown(group *cobra.Command, name string) string {
	for _, verb := range showing {
		for _, c := range group.Commands() {
			if c.Name() != verb || c.ValidArgsFunction == nil {
				continue
			}
			list, _ := c.ValidArgsFunction(c, nil, name)
			for _, known := range list {
				id, _, _ := strings.Cut(known, "\t")
				if id == name || strings.HasPrefix(name, "r_") && strings.HasPrefix(id, name) { // runs go by how they begin
					return c.CommandPath() + " " + gate.Terminal(name)
				}
			}
		}
	}
	return ""
}
