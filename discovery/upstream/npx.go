package upstream

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
)

// NPMCaches returns the caches of npm that servers use which npx starts as they are
// written.
func NPMCaches(ctx context.Context, servers []Config, expand func(string) (string, error)) []string {
	var caches []string
	asked := make(map[string]string) // by environment and folder
	for _, c := range servers {
		if r := launch.Runner(c.Command, c.Args); r != "npx" && r != "npm" {
			continue
		}
		if _, err := packages.Parse(c.Command, c.Args); err == nil && !c.AsWritten {
			continue
		}
		t, err := c.resolve(expand)
		if err != nil {
			continue // which its start says
		}
		key := strings.Join(append(t.Env, t.Dir), "\x00")
		dir, ok := asked[key]
		if !ok {
			dir = launch.NPMCache(ctx, t.Command)
			asked[key] = dir
		}
		if dir != "" && !slices.Contains(caches, dir) {
			caches = append(caches, dir)
		}
	}
	return caches
}
