package discovery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// A Catalog is an immutable snapshot of servers and their tools. The zero
// value is an empty catalogue. It is safe for concurrent use.
type Catalog struct {
	servers []*Server
	tools   []*Tool
	byID    map[string]*Tool
	byAlias map[string]*Server
	byName  map[string]*Server

	// The longest id, other name of a server and name of a tool: what is longer
	// is not looked up.
	maxID, maxAlias, maxTool int
}

// NewCatalog names the servers and tools of listings, which are in config
// order: where two names collide without regard to case, or two ids, a server whose
// config key is that name has it, and of others the later one gets "_2", "_3" and so
// on. Listings are not modified but their tools are shared.
func NewCatalog(listings []Listing) *Catalog {
	c := &Catalog{
		byID:    make(map[string]*Tool),
		byAlias: make(map[string]*Server),
		byName:  make(map[string]*Server),
	}
	keys := make([]string, len(listings))
	for i, l := range listings {
		keys[i] = l.Server
	}
	prefixes, folders, namespaces := spelt(keys, tsname.Prefix), spelt(keys, tsname.Folder), spelt(keys, tsname.Namespace)
	for i, l := range listings {
		s := &Server{Listing: l, Prefix: prefixes[i], Folder: folders[i], Namespace: namespaces[i]}
		c.servers = append(c.servers, s)
		c.byName[l.Server] = s
		names := make([]string, len(l.Tools))
		for i, t := range l.Tools {
			names[i] = t.Name
		}
		funcs := spelt(names, tsname.Func)
		for i, lt := range l.Tools {
			t := &Tool{ListedTool: lt, Server: l.Server, Func: funcs[i]}
			t.ID = s.Prefix + "__" + lt.Name
			for n := 2; c.byID[t.ID] != nil; n++ {
				t.ID = fmt.Sprintf("%s__%s_%d", s.Prefix, lt.Name, n)
			}
			c.byID[t.ID] = t
			t.WrapperPath = fmt.Sprintf("servers/%s/%s.ts", s.Folder, t.Func)
			s.Tools = append(s.Tools, t)
			c.tools = append(c.tools, t)
		}
	}
	c.index()
	return c
}

// spelt gives each name another one by the rule as. A name that is already spelt as
// the rule has it keeps it; the others follow in their order.
func spelt(names []string, as func(string) string) []string {
	var set tsname.Set
	list := make([]string, len(names))
	done := make([]bool, len(names))
	for i, name := range names {
		if s := as(name); s == name {
			list[i], done[i] = set.Add(s), true
		}
	}
	for i, name := range names {
		if !done[i] {
			list[i] = set.Add(as(name))
		}
	}
	return list
}

// index fills the look-up tables. A config key is that of its server alone; where two
// servers share one of their other names, the earlier one has it.
func (c *Catalog) index() {
	for _, t := range c.tools {
		c.byID[t.ID] = t
		c.maxID = max(c.maxID, len(t.ID))
		c.maxTool = max(c.maxTool, len(t.Func), len(t.Name))
	}
	for _, s := range c.servers {
		c.byAlias[s.Listing.Server] = s
	}
	for _, s := range c.servers {
		s.byName = make(map[string]*Tool, 2*len(s.Tools))
		for _, t := range s.Tools {
			s.byName[t.Func] = t
		}
		for _, t := range s.Tools {
			s.byName[t.Name] = t
		}
		for _, name := range []string{s.Listing.Server, s.Prefix, s.Folder, s.Namespace} {
			c.maxAlias = max(c.maxAlias, len(name))
			if _, taken := c.byAlias[name]; !taken {
				c.byAlias[name] = s
			}
		}
	}
}

// Servers returns the servers in config order. The caller must not modify it.
func (c *Catalog) Servers() []*Server { return c.servers }

// Tools returns every tool, in config and listed order. The caller must not
// modify it.
func (c *Catalog) Tools() []*Tool { return c.tools }

// Server returns the server with the given config key.
func (c *Catalog) Server(name string) (*Server, bool) {
	s, ok := c.byName[name]
	return s, ok
}

// FindServer finds a server by config key, tool id prefix, folder or
// namespace, then by any of them without regard to case: by the keys of all servers
// first.
func (c *Catalog) FindServer(name string) (*Server, bool) {
	if s, ok := c.byName[name]; ok {
		return s, true
	}
	if s, ok := c.byAlias[name]; ok {
		return s, true
	}
	for _, s := range c.servers {
		if strings.EqualFold(name, s.Listing.Server) {
			return s, true
		}
	}
	for _, s := range c.servers {
		for _, other := range []string{s.Prefix, s.Folder, s.Namespace} {
			if strings.EqualFold(name, other) {
				return s, true
			}
		}
	}
	return nil, false
}

// Tool finds a tool by its id, else by "server.tool", "server/tool" or
// "server:tool", where server is any of the server's names and tool is the
// upstream's name or the function name.
func (c *Catalog) Tool(name string) (*Tool, bool) {
	if t, ok := c.withID(name); ok {
		return t, true
	}
	s, tool, ok := c.split(name)
	if !ok || len(tool) > c.maxTool {
		return nil, false
	}
	t, ok := s.byName[tool]
	return t, ok
}

// ServerOf returns the server whose tool name would be, whether or not it has
// such a tool: the one that the part before a separator names.
func (c *Catalog) ServerOf(name string) (*Server, bool) {
	if t, ok := c.withID(name); ok {
		return c.byName[t.Server], true
	}
	s, _, ok := c.split(name)
	return s, ok
}

// withID returns the tool with an id.
func (c *Catalog) withID(id string) (*Tool, bool) {
	if len(id) > c.maxID {
		return nil, false
	}
	t, ok := c.byID[id]
	return t, ok
}

// split takes a tool's full name apart. Server names may hold separators
// themselves, so every place where it can be split is tried, as far as names of
// servers reach, the longest name first: names of servers are the user's, those
// of tools are not. A split that gives a known tool wins, but not against a
// longer name whose server has not been listed.
func (c *Catalog) split(name string) (*Server, string, bool) {
	var found *Server
	var rest string
	for i := min(len(name)-1, c.maxAlias); i >= 0; i-- {
		for _, sep := range []string{"__", ".", "/", ":"} {
			if !strings.HasPrefix(name[i:], sep) {
				continue
			}
			s, ok := c.byAlias[name[:i]]
			if !ok {
				continue
			}
			tool := name[i+len(sep):]
			if len(tool) <= c.maxTool {
				if _, ok := s.byName[tool]; ok {
					return s, tool, true
				}
			}
			if len(s.Tools) == 0 && found == nil {
				return s, tool, true
			}
			if found == nil {
				found, rest = s, tool
			}
		}
	}
	return found, rest, found != nil
}

// Filter returns a catalogue with the tools that keep accepts. Names are not
// given anew: a tool is called the same with and without the filter.
func (c *Catalog) Filter(keep func(*Tool) bool) *Catalog {
	return c.Narrow(func(*Server) bool { return true }, keep)
}

// Narrow is Filter that also leaves out the servers that server does not accept,
// which is given copies and may take away what they offer. The names of a server that
// is left out lead to no other one.
func (c *Catalog) Narrow(server func(*Server) bool, keep func(*Tool) bool) *Catalog {
	f := &Catalog{
		byID:    make(map[string]*Tool),
		byAlias: make(map[string]*Server),
		byName:  make(map[string]*Server),
	}
	for _, s := range c.servers {
		kept := *s
		kept.Tools = nil
		if !server(&kept) {
			continue
		}
		for _, t := range s.Tools {
			if keep(t) {
				kept.Tools = append(kept.Tools, t)
				f.tools = append(f.tools, t)
			}
		}
		f.servers = append(f.servers, &kept)
		f.byName[s.Listing.Server] = &kept
	}
	f.index()
	for name, s := range f.byAlias {
		if c.byAlias[name].Listing.Server != s.Listing.Server {
			delete(f.byAlias, name)
		}
	}
	return f
}

// SortedIDs returns all tool ids in ascending order.
func (c *Catalog) SortedIDs() []string {
	ids := make([]string, len(c.tools))
	for i, t := range c.tools {
		ids[i] = t.ID
	}
	slices.Sort(ids)
	return ids
}
