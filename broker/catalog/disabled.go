package catalog

import (
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// Disabled returns the names of the disabled servers of the config. It returns nil for
// a profile.
func (c *Catalog) Disabled() []string {
	if c.parent != nil {
		return nil
	}
	return c.opts.Load().Disabled
}

// disabledServerOf returns the disabled server that the name of a tool begins with, or
// "".
func (c *Catalog) disabledServerOf(tool string) string {
	longest := ""
	for _, server := range c.Disabled() {
		for _, start := range []string{server, tsname.Prefix(server)} {
			rest, ok := strings.CutPrefix(tool, start)
			if ok && len(server) > len(longest) && slices.ContainsFunc(separators, func(sep string) bool { return strings.HasPrefix(rest, sep) }) {
				longest = server
			}
		}
	}
	return longest
}
