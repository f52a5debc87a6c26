package doctor

import (
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/setup"
)

// checkVariables warns of variables that servers may lack.
func checkVariables(s *application.App) (Check, bool) {
	names := setup.Withheld(s.Config.Servers)
	return Check{Name: "variables", OK: true, Detail: setup.WithheldLine(names)}, len(names) > 0
}
