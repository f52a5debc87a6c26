package upstream

import (
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
)

// sharing decides which clients share an instance of a server with these tools, and
// returns the reason. asks means that it has asked a client something during a call.
func (c Config) sharing(tools []discovery.ListedTool, asks bool) (s sharing.Kind, why string) {
	if c.usesFolder() && c.Instances != sharing.PerClient {
		return sharing.PerProject, "it names ${workspaceFolder}"
	}
	if c.Instances != "" {
		return c.Instances, "configured"
	}
	if k, name, ok := sharing.Known(c.Command, c.Args); ok {
		return k.Kind, "usual for " + name
	}
	if asks {
		return sharing.PerClient, "it asks its client questions"
	}
	for _, t := range tools {
		if sharing.KeepsState(t) {
			return sharing.PerClient, "its tool " + t.Name + " may depend on earlier calls"
		}
	}
	return sharing.Shared, "no tool seems to depend on earlier calls"
}

// Reviewed returns the server's listing with the reviews of its tools, if it is a
// published server.
func (c Config) Reviewed(l discovery.Listing) discovery.Listing {
	if c.Command == "" {
		return sharing.ReviewedAt(c.URL, l)
	}
	return sharing.Reviewed(c.Command, c.Args, l)
}

// apart is c for an instance that others run beside, in a project's folder if c
// names none.
func (c Config) apart(folder string) Config {
	c.folder = folder
	if c.Dir == "" && c.Command != "" {
		c.Dir, c.lent = folder, true
	}
	k, _, _ := sharing.Known(c.Command, c.Args)
	if k.Isolate == "" || slices.ContainsFunc(c.Args, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(k.Own, name)
	}) {
		return c
	}
	c.Args = append(slices.Clone(c.Args), k.Isolate)
	return c
}
