package broker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/tokens"
)

// Mode auto lists the upstream tools while their definitions are short, however many
// tools they are of. A threshold below 100 is a number of tools.
func TestAutoModeCountsTokens(t *testing.T) {
	many := func(n int, description string, params ...string) []listedTool {
		var list []listedTool
		for i := range n {
			list = append(list, listedTool{Name: fmt.Sprintf("tool_%d", i), Description: description, InputSchema: stringParams(params...)})
		}
		return list
	}
	var wide []string
	for i := range 250 {
		wide = append(wide, fmt.Sprintf("parameter_%d", i))
	}
	for name, c := range map[string]struct {
		tools     []listedTool
		threshold int
		listed    bool
	}{
		"many short ones":                {many(25, "Short."), 0, true},
		"some with long descriptions":    {many(12, strings.Repeat("A long description of a tool. ", 100)), 0, false},
		"one with a long schema":         {many(1, "Short.", wide...), 0, false},
		"more than needs to be counted":  {many(60, strings.Repeat("word ", 600)), 0, false},
		"with a larger threshold":        {many(12, strings.Repeat("A long description of a tool. ", 100)), 20000, true},
		"with a smaller threshold":       {many(25, "Short."), 200, false},
		"as a number of tools, few":      {many(12, strings.Repeat("A long description of a tool. ", 100)), 20, true},
		"as a number of tools, too many": {many(25, "Short."), 20, false},
	} {
		b := newBroker(t, broker.Deps{CountTokens: tokens.Count}, broker.Settings{Mode: broker.ModeAuto, AutoThreshold: c.threshold, Servers: []upstream.Config{listing(t, "s", c.tools...)}})
		b.Refresh(t.Context())
		if tools := listed(t, connect(t, b, "2025-11-25", nil)); (tools["s__tool_0"] != nil) != c.listed {
			t.Errorf("%s: listed are %s, want the server's tools: %t", name, keys(tools), c.listed)
		}
	}
}
