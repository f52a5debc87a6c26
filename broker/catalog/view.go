package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
)

// View returns a catalogue of the tools that all of the profiles contain, under
// unchanged names. Other tools do not exist in it. It shares the servers and settings
// of c, and must not be closed or configured.
func (c *Catalog) View(profiles []policy.Profile) *Catalog {
	v := &Catalog{Pool: c.Pool, parent: c.root()}
	v.Narrow(profiles)
	return v
}

// Narrow replaces the profiles of a view.
func (c *Catalog) Narrow(profiles []policy.Profile) {
	c.profiles.Store(&profiles)
	c.Changed()
}

// root is the catalogue that c is a view of, or c itself.
func (c *Catalog) root() *Catalog {
	if c.parent != nil {
		return c.parent
	}
	return c
}

// options are the settings, which a view has of its root.
func (c *Catalog) options() *Options { return c.root().opts.Load() }

// Has reports whether a server can be known here.
func (c *Catalog) Has(server string) bool {
	profiles := c.profiles.Load()
	if profiles == nil {
		return true
	}
	for i := range *profiles {
		if !(*profiles)[i].HasServer(server) {
			return false
		}
	}
	return true
}

// ScopeNote returns a note that names the profiles of a view, for errors about unknown
// names: a profile may leave the name out. It is empty without profiles.
func (c *Catalog) ScopeNote() string {
	profiles := c.profiles.Load()
	if profiles == nil {
		return ""
	}
	var names []string
	for _, p := range *profiles {
		if p.Name != "" {
			names = append(names, strconv.Quote(gate.Cut(gate.Clean(p.Name), 60)))
		}
	}
	switch len(names) {
	case 0:
		return "only the servers of the project's file can be used here"
	case 1:
		return fmt.Sprintf("only the servers and tools of profile %s can be used here", names[0])
	}
	return fmt.Sprintf("only servers and tools that are in all of the profiles %s can be used here", strings.Join(names, ", "))
}

// Status returns the states of the visible servers, in config order.
func (c *Catalog) Status() []upstream.Status {
	return slices.DeleteFunc(c.Pool.Status(), func(s upstream.Status) bool { return !c.Has(s.Name) })
}

// bothOfView are the catalogues of a view.
func (c *Catalog) bothOfView() (full, scope *discovery.Catalog) {
	full, scope = c.parent.Both()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dirty && c.ofFull == full && c.ofScope == scope {
		return c.full, c.scope
	}
	profiles := *c.profiles.Load()
	narrow := func(from *discovery.Catalog) *discovery.Catalog {
		for i := range profiles {
			p := &profiles[i]
			server := func(s *discovery.Server) bool {
				p.Offers(s)
				return p.HasServer(s.Listing.Server)
			}
			from = from.Narrow(server, p.HasTool)
		}
		return from
	}
	c.dirty, c.ofFull, c.ofScope = false, full, scope
	c.full = narrow(full)
	c.scope = c.full
	if scope != full {
		c.scope = narrow(scope)
	}
	return c.full, c.scope
}
