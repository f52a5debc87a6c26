package setup

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// Withheld returns the variables of well-known programs that are set here but not
// passed to any of the servers that run on this host.
func Withheld(servers []config.Server) []string {
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

// WithheldLine returns the line to add for a server that needs one of these variables,
// or "".
func WithheldLine(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("set here, but not passed to servers: %s; for a server that needs it, write \"env\": {%q: \"${%s}\"}", strings.Join(names, ", "), names[0], names[0])
}
