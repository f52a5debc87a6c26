package main

import (
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// checkVariables warns of variables that servers may lack.
func checkVariables(s *application.App) (check, bool) {
	names := setup.Withheld(s.Config.Servers)
	return check{Name: "variables", OK: true, Detail: setup.WithheldLine(names)}, len(names) > 0
}
