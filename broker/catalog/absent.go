package catalog

import (
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/policy"
)

// An Absent is a tool that no search returns because the configuration leaves it out, or
// a disabled server with unknown tools.
type Absent struct {
	// ID is that of a denied tool, and the name of another.
	ID string
	// Name is empty for a server.
	Server, Name string
	Description  string
	// Denied is why each call of the tool is denied. It is empty for a disabled server
	// and its tools.
	Denied string
}

// Absences identifies what Absent returns: it is another value once that changes.
type Absences struct {
	full, scope *discovery.Catalog
	options     *Options
}

// Absences returns the current value for catalogues that Both has returned. Any is false
// if Absent returns nothing.
func (c *Catalog) Absences(full, scope *discovery.Catalog) (a Absences, any bool) {
	o := c.options()
	return Absences{full, scope, o}, full != scope || c.parent == nil && len(o.DisabledServers)+len(o.Tools) > 0
}

// Absent returns the tools that are denied whatever the call, those that "tools" of their
// server leaves out, and what is known of disabled servers. A view contains only denied
// tools of its profiles.
func (c *Catalog) Absent(a Absences) (list []Absent) {
	for _, t := range a.full.Tools() {
		if _, ok := a.scope.Tool(t.ID); !ok {
			list = append(list, Absent{ID: t.ID, Server: t.Server, Name: t.Name, Description: t.Description, Denied: reasonOf(a.options.denies(t))})
		}
	}
	if c.parent != nil {
		return list
	}
	for _, l := range c.Approved() {
		kept := a.options.Tools.Filter(l).Tools
		for _, t := range l.Tools {
			if !slices.ContainsFunc(kept, func(k discovery.ListedTool) bool { return k.Name == t.Name }) {
				list = append(list, Absent{ID: l.Server + "." + t.Name, Server: l.Server, Name: t.Name, Description: t.Description, Denied: `"tools" of its server`})
			}
		}
	}
	for _, s := range a.options.DisabledServers {
		list = append(list, c.absentOf(s)...)
	}
	return list
}

// reasonOf returns the reason of the rule that has decided, or what else has.
func reasonOf(d policy.Decision) string {
	switch {
	case d.Rule != nil && d.Rule.Reason != "":
		return d.Rule.Reason
	case d.Rule != nil:
		return "a rule"
	case d.Code == policy.CodeReadOnly:
		return "read-only"
	}
	return d.Code
}

// absentOf returns the tools that a disabled server has listed before, without those that
// its pins hold back; or the server, with its description and what it runs.
func (c *Catalog) absentOf(s upstream.Config) (list []Absent) {
	o := c.options()
	l, ok := c.Pool.Stored(s)
	if ok && o.Pins != nil {
		l = o.Pins.Peek([]discovery.Listing{l})[0]
	}
	for _, t := range o.Tools.Filter(l).Tools {
		list = append(list, Absent{ID: t.Name, Server: s.Name, Name: t.Name, Description: t.Description})
	}
	if len(list) == 0 {
		runs := append([]string{s.Description, s.URL, s.Command}, s.Args...)
		list = []Absent{{ID: s.Name, Server: s.Name, Description: strings.Join(runs, " ")}}
	}
	return list
}
