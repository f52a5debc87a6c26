package discovery

import (
	"cmp"
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
	// reserved are the names of servers outside the catalogue, which never name a
	// server in it.
	reserved map[string]bool
	others   []string // the prefixes of these servers
	full     *Catalog // of which this one is a part; nil if it is whole

	// The longest id, other name of a server and name of a tool: what is longer
	// is not looked up.
	maxID, maxAlias, maxTool int
}

// NewCatalog names the servers and tools of listings, which are in config order and
// have different servers. Others are configured servers without a listing, such as
// disabled ones. If two names would be equal ignoring case, or a name has letters
// outside ASCII, a part of its hash makes it unique, so names depend neither on the
// order nor on which servers are disabled. NewCatalog does not modify listings; the
// catalogue shares their tools.
func NewCatalog(listings []Listing, others ...string) *Catalog {
	c := &Catalog{
		byID:     make(map[string]*Tool),
		byAlias:  make(map[string]*Server),
		byName:   make(map[string]*Server),
		reserved: make(map[string]bool),
	}
	names := make([]string, len(listings), len(listings)+len(others))
	for i, l := range listings {
		names[i] = l.Server
	}
	names = append(names, others...)
	prefixes, folders, namespaces := tsname.Prefixes.Distinct(names), tsname.Folders.Distinct(names), tsname.Namespaces.Distinct(names)
	for i := range others {
		at := len(listings) + i
		c.others = append(c.others, prefixes[at])
		for _, name := range []string{names[at], prefixes[at], folders[at], namespaces[at]} {
			c.reserved[name] = true
			c.maxAlias = max(c.maxAlias, len(name))
		}
	}
	for i, l := range listings {
		s := &Server{Listing: l, Prefix: prefixes[i], Folder: folders[i], Namespace: namespaces[i]}
		if plain := tsname.Prefix(l.Server); plain != s.Prefix {
			s.PlainPrefix = plain
		}
		c.servers = append(c.servers, s)
		c.byName[l.Server] = s
		funcs := funcNames(l.Tools)
		for i, lt := range l.Tools {
			if strings.Contains(lt.Name, nameSeparator) {
				continue // its id would be another tool's joined name
			}
			t := &Tool{ListedTool: lt, Server: l.Server, Func: funcs[i], PlainPrefix: s.PlainPrefix}
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

// funcNames gives each tool of one server a function name. A tool with a name that is
// already a valid function name keeps it.
func funcNames(tools []ListedTool) []string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return tsname.Funcs.Distinct(names)
}

// index fills the look-up tables. If several servers have the same alternative name, it
// refers to the server with that key, then to the one with that prefix of ids, and so
// on.
func (c *Catalog) index() {
	for _, t := range c.tools {
		c.byID[t.ID] = t
		c.maxID = max(c.maxID, len(t.ID))
		c.maxTool = max(c.maxTool, len(t.Func), len(t.Name))
	}
	for _, s := range c.servers {
		s.byName = make(map[string]*Tool, 2*len(s.Tools))
		for _, t := range s.Tools {
			s.byName[t.Func] = t
		}
		for _, t := range s.Tools {
			s.byName[t.Name] = t
		}
	}
	for kind := range (&Server{}).aliases() {
		for _, s := range c.servers {
			name := s.aliases()[kind]
			c.maxAlias = max(c.maxAlias, len(name))
			if _, taken := c.byAlias[name]; !taken && (kind == 0 || !c.reserved[name]) {
				c.byAlias[name] = s
			}
		}
	}
}

// aliases returns the names by which a server is found, the preferred ones first.
func (s *Server) aliases() [4]string {
	return [4]string{s.Listing.Server, s.Prefix, s.Folder, s.Namespace}
}

// Servers returns the servers in config order. The caller must not modify it.
func (c *Catalog) Servers() []*Server { return c.servers }

// OtherPrefixes returns the prefixes of the configured servers without a listing.
func (c *Catalog) OtherPrefixes() []string { return c.others }

// Tools returns every tool, in config and listed order. The caller must not
// modify it.
func (c *Catalog) Tools() []*Tool { return c.tools }

// Server returns the server with the given config key.
func (c *Catalog) Server(name string) (*Server, bool) {
	s, ok := c.byName[name]
	return s, ok
}

// FindServer finds a server by config key, tool id prefix, folder or
// namespace, then by any of them without regard to case.
func (c *Catalog) FindServer(name string) (*Server, bool) {
	if s, ok := c.exactServer(name); ok {
		s, ok = c.byName[s.Listing.Server]
		return s, ok // no other server is found by the name of one that is left out
	}
	if c.reserved[name] {
		return nil, false
	}
	for kind := range (&Server{}).aliases() {
		var found *Server
		for _, s := range c.servers {
			if strings.EqualFold(name, s.aliases()[kind]) {
				if found != nil {
					return nil, false // two keys that differ only in case
				}
				found = s
			}
		}
		if found != nil {
			return found, true
		}
	}
	return nil, false
}

// exactServer finds a server, whether or not it is left out, by one of its names.
func (c *Catalog) exactServer(name string) (*Server, bool) {
	if c.full != nil {
		return c.full.exactServer(name)
	}
	if s, ok := c.byName[name]; ok {
		return s, true
	}
	s, ok := c.byAlias[name]
	return s, ok
}

// nameSeparator joins a server and a tool. A tool whose name contains it is not in a
// catalogue.
const nameSeparator = "\x1f"

// JoinName returns the name of a tool of a server for [Catalog.Tool]. It means no
// other tool, whatever separators both names contain. [ShownName] is for people.
func JoinName(server, tool string) string { return server + nameSeparator + tool }

// ShownName returns the name of a tool as people write it: "server.tool" for what
// [JoinName] has joined, and any other name as it is.
func ShownName(name string) string { return strings.Replace(name, nameSeparator, ".", 1) }

// Tool finds a tool by what [JoinName] returns, by its id, else by "server.tool",
// "server/tool" or "server:tool", where server is any of the server's names and tool
// is the upstream's name or the function name. A name means the same tool in a part
// of a catalogue as in all of it, or none.
func (c *Catalog) Tool(name string) (*Tool, bool) {
	if c.full != nil {
		t, ok := c.full.Tool(name)
		if ok {
			t, ok = c.byID[t.ID]
		}
		return t, ok
	}
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

// ServerOf returns the server that the first part of a tool's name identifies, whether
// or not it has the tool.
func (c *Catalog) ServerOf(name string) (*Server, bool) {
	s, _, ok := c.Split(name)
	return s, ok
}

// Split is ServerOf that also returns the rest of name, which the server calls its
// tool if it has one of that name.
func (c *Catalog) Split(name string) (s *Server, tool string, ok bool) {
	if c.full != nil {
		if s, tool, ok = c.full.Split(name); ok {
			s, ok = c.byName[s.Listing.Server]
		}
		return s, tool, ok
	}
	if t, ok := c.withID(name); ok {
		return c.byName[t.Server], t.Name, true
	}
	return c.split(name)
}

// withID returns the tool with an id.
func (c *Catalog) withID(id string) (*Tool, bool) {
	if len(id) > c.maxID {
		return nil, false
	}
	t, ok := c.byID[id]
	return t, ok
}

// split splits a tool's full name. Server names may contain separators, so split tries
// every position, longest server name first, since users choose the names of servers
// but not those of tools. A split that gives a known tool wins, except against a longer
// name of a server that has not been listed.
func (c *Catalog) split(name string) (*Server, string, bool) {
	if server, tool, ok := strings.Cut(name, nameSeparator); ok {
		s, ok := c.byAlias[server]
		return s, tool, ok
	}
	var found *Server
	var rest string
	for i := min(len(name)-1, c.maxAlias); i >= 0; i-- {
		for _, sep := range []string{"__", ".", "/", ":"} {
			if !strings.HasPrefix(name[i:], sep) {
				continue
			}
			s, ok := c.byAlias[name[:i]]
			if !ok {
				if found == nil && c.reserved[name[:i]] {
					return nil, "", false
				}
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
// which is given copies and may take away what they offer.
func (c *Catalog) Narrow(server func(*Server) bool, keep func(*Tool) bool) *Catalog {
	f := &Catalog{
		byID:    make(map[string]*Tool),
		byAlias: make(map[string]*Server),
		byName:  make(map[string]*Server),

		reserved: c.reserved, others: c.others, full: cmp.Or(c.full, c),
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
