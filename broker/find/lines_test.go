package find

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

func oneTool(parameter string) (*discovery.Catalog, *discovery.Server, *discovery.Tool) {
	schema := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}`, parameter, parameter)
	c := discovery.NewCatalog([]discovery.Listing{{Server: "mail", Transport: "stdio", Tools: []discovery.ListedTool{{Name: "send", InputSchema: json.RawMessage(schema)}}}})
	s, _ := c.Server("mail")
	return c, s, c.Tools()[0]
}

func TestLinesAreKeptForOneCatalogue(t *testing.T) {
	var cache lineCache
	outputs := 0
	learned := false
	types := &codegen.Generator{Output: func(*discovery.Tool) *codegen.Output {
		if outputs++; !learned {
			return nil
		}
		return &codegen.Output{Schema: json.RawMessage(`{"type":"integer"}`)}
	}}
	line := func(c *discovery.Catalog, s *discovery.Server, tool *discovery.Tool) codegen.Line {
		return renderer{types: types, lines: &cache, scope: c}.line(s, tool)
	}
	c, s, tool := oneTool("to")
	first := line(c, s, tool)
	made := outputs
	if again := line(c, s, tool); again != first || outputs != made+1 { // once, to see whether it is cached
		t.Errorf("%+v and %+v; the types were asked %d times", first, again, outputs-made)
	}
	learned = true
	if got := line(c, s, tool); got.Output == first.Output {
		t.Errorf("what was learned is not in %+v", got)
	}
	learned = false
	if got := line(c, s, tool); got != first {
		t.Errorf("%+v, want %+v", got, first)
	}
	c, s, tool = oneTool("recipient")
	if got := line(c, s, tool); got.Input == first.Input || len(cache.kept) != 1 {
		t.Errorf("of another catalogue: %+v, %d lines are kept", got, len(cache.kept))
	}
}
