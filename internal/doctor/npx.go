package doctor

import (
	"context"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
)

// checkNPX looks for what npx has installed by half, which it takes for whole.
func checkNPX(ctx context.Context, s *application.App, f Options) []Check {
	var checks []Check
	for _, cache := range upstream.NPMCaches(ctx, application.Upstreams(s.Config), f.Expand) {
		c := Check{Name: "npx", OK: true, Detail: cache + ": every installation is whole"}
		var found []string
		for _, h := range launch.HalfInstalls(cache) {
			what := strings.TrimSpace(h.Dir + " " + h.Package)
			switch {
			case h.Installing:
				found = append(found, what+" is being installed, or was until a moment ago")
				continue
			case !f.Fix:
				c.OK, c.Hint = false, "broker doctor --fix puts it aside, and npx installs it anew"
				found = append(found, what+" is installed by half, so what is in it does not start")
				continue
			}
			aside, err := h.SetAside()
			if err != nil {
				c.OK = false
				found = append(found, what+" is installed by half: "+err.Error())
				continue
			}
			found = append(found, what+" was installed by half, and is now "+aside)
		}
		if len(found) > 0 {
			c.Detail = strings.Join(found, "\n")
		}
		checks = append(checks, c)
	}
	return checks
}
