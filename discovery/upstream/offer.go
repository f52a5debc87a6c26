package upstream

import (
	"slices"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// What Pool.Call takes in place of a tool's name, unless the server has a tool
// of that name.
const (
	// ReadResource reads the resource {"uri"}. Of a single text the result is
	// that text, else each part as an embedded resource.
	ReadResource = discovery.ReadResource
	// GetPrompt fills in the prompt {"name", "arguments"}. The structured
	// content of the result is {"description"?, "messages"}.
	GetPrompt = discovery.GetPrompt
)

func (s *server) hasTool(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.full.Tools, func(t discovery.ListedTool) bool { return t.Name == name })
}
