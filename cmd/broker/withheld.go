package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// withheld returns the variables of well-known programs that are set here but not
// passed to any of the servers that run on this host.
func withheld(servers []config.Server) []string {
	names := []string{}
	first := true
	for _, s := range servers {
		if s.Command == "" || s.Disabled {
			continue
		}
		of := launch.Withheld(os.Environ(), s.Env)
		if first {
			names, first = of, false
			continue
		}
		names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(of, n) })
	}
	return cli.OrEmpty(names)
}

// withheldLine returns the line to add for a server that needs one of these variables,
// or "".
func withheldLine(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("set here, but not passed to servers: %s; for a server that needs it, write \"env\": {%q: \"${%s}\"}", strings.Join(names, ", "), names[0], names[0])
}

// checkVariables warns of variables that servers may lack.
func checkVariables(s *application.App) (check, bool) {
	names := withheld(s.Config.Servers)
	return check{Name: "variables", OK: true, Detail: withheldLine(names)}, len(names) > 0
}
