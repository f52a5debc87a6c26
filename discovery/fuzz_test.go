package discovery_test

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// Whatever servers and tools are called, each tool has an id and a wrapper of
// its own, and its id leads back to it.
func FuzzCatalogNames(f *testing.F) {
	f.Add("foo", "bar__read", "foo--bar", "read")
	f.Add("a.b", "c", "a", "b.c")
	f.Add("", "", " ", "\x00")
	f.Add("X", "getUser", "x", "get_user")
	f.Add("s", "then", "s_2", "\u202e")
	f.Add("a/b", "c:d", "a:b", "c/d")
	f.Fuzz(func(t *testing.T, server1, tool1, server2, tool2 string) {
		if server1 == server2 {
			return // keys of a config
		}
		tools := []discovery.ListedTool{{Name: tool1}}
		if tool2 != tool1 { // upstreams' duplicates are left out when they are listed
			tools = append(tools, discovery.ListedTool{Name: tool2})
		}
		c := discovery.NewCatalog([]discovery.Listing{{Server: server1, Tools: tools}, {Server: server2, Tools: tools}})
		ids, paths := make(map[string]bool), make(map[string]bool)
		for _, tool := range c.Tools() {
			if id := strings.ToLower(tool.ID); ids[id] {
				t.Errorf("two tools have the id %q", tool.ID)
			} else {
				ids[id] = true
			}
			if p := strings.ToLower(tool.WrapperPath); paths[p] {
				t.Errorf("two tools have the wrapper %q", tool.WrapperPath)
			} else {
				paths[p] = true
			}
			if found, ok := c.Tool(tool.ID); !ok || found != tool {
				t.Errorf("the id %q leads to %+v", tool.ID, found)
			}
			if s, ok := c.ServerOf(tool.ID); !ok || s.Listing.Server != tool.Server {
				t.Errorf("the server of %q is %+v", tool.ID, s)
			}
		}
		// What no server is called by finds nothing, and any text ends.
		for _, name := range []string{server1 + "." + tool1, server2 + tool2, tool1, strings.Repeat(server1+"_", 20)} {
			if found, ok := c.Tool(name); ok && found == nil {
				t.Errorf("Tool(%q) is found and nil", name)
			}
			c.FindServer(name)
		}
	})
}
