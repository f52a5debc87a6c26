package skills

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An Offer is an MCP server that a skill brings along: scripts/run with the
// argument mcp, as skill-kit builds it.
type Offer struct {
	// Name is the one under which the skill's text knows the server.
	Name string `json:"name"`
	// Tools are those that it names.
	Tools []string `json:"tools"`
	// Command and Args start it. The command is a path on this host, for the
	// user's eyes; it is empty if the skill names tools of a server that it does
	// not bring along.
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
}

// Offer returns the server that a skill brings along. It is recognised by its
// allowed tools: mcp__NAME__start. Nothing of the skill is run. What a skill of an
// upstream server asks for in that way is not looked at.
func (s *Skill) Offer() (Offer, bool) {
	const prefix, separator = "mcp__", "__"
	var o Offer
	if s.Scope == ScopeServer {
		return o, false
	}
	for _, t := range s.AllowedTools {
		if rest, ok := strings.CutPrefix(t, prefix); ok {
			if name, ok := strings.CutSuffix(rest, separator+"start"); ok && name != "" {
				o.Name = name
				break
			}
		}
	}
	if o.Name == "" {
		return o, false
	}
	for _, t := range s.AllowedTools {
		if tool, ok := strings.CutPrefix(t, prefix+o.Name+separator); ok && tool != "" && !slices.Contains(o.Tools, tool) {
			o.Tools = append(o.Tools, tool)
		}
	}
	if s.virtual != nil {
		return o, true
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return o, true
	}
	defer root.Close()
	// A link that leads out of the skill is not followed.
	if info, err := root.Stat(filepath.Join("scripts", "run")); err == nil && info.Mode().IsRegular() {
		o.Command, o.Args = filepath.Join(s.shown, "scripts", "run"), []string{"mcp"}
	}
	return o, true
}
