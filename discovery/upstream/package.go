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
	s := p.server(server)
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

// Held returns the newer version of a server's package that is not used, or nil.
func (p *Pool) Held(server string) *packages.Held {
	s := p.server(server)
	if s == nil || p.programs.Packages == nil || !s.cfg.direct() {
		return nil
	}
	spec, err := packages.Parse(s.cfg.Command, s.cfg.Args)
	if err != nil {
		return nil
	}
	return p.programs.Packages.Held(spec)
}
