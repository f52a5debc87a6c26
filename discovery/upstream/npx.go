package upstream

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
)

// Package returns the package that runs for a server without its package runner, with
// the version of its next start, if known, or "" if the server's command runs
// unchanged.
func (p *Pool) Package(ctx context.Context, server string) string {
	s := p.roster.Load().byName[server]
	if s == nil || p.programs.Packages == nil || !s.cfg.direct() {
		return ""
	}
	t, err := s.cfg.resolveIn(p.opts.Expand, p.opts.Environ())
	if err != nil {
		return ""
	}
	name, _ := p.programs.Packages.Package(ctx, t.Command) // its start reports the reason
	return name
}

// direct reports whether the command is plain, whatever its references are: their
// values would become names of folders.
func (c Config) direct() bool {
	_, err := packages.Parse(c.Command, c.Args)
	return err == nil && !c.AsWritten
}

// NPMCaches returns the caches of npm of servers that npx starts unchanged.
func NPMCaches(ctx context.Context, servers []Config, expand func(string) (string, error)) []string {
	var caches []string
	asked := make(map[string]string) // by environment and folder
	for _, c := range servers {
		if r := launch.Runner(c.Command, c.Args); r != "npx" && r != "npm" {
			continue
		}
		if c.direct() {
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

// mayBreak reports whether stopping the first start of a server may leave an incomplete
// package behind, which npx would never repair.
func (p *Pool) mayBreak(c Config) bool {
	r := launch.Runner(c.Command, c.Args)
	return (r == "npx" || r == "npm") && (p.programs.Packages == nil || !c.direct())
}
