package find

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	if got := line(c, s, tool); got.Input == first.Input || len(cache.lines) != 1 {
		t.Errorf("of another catalogue: %+v, %d lines are kept", got, len(cache.lines))
	}
}

// Optional parameters keep their place in a line if the query names them.
func TestLinesHaveTheParametersOfTheQuery(t *testing.T) {
	schema := func(optional ...string) json.RawMessage {
		var props strings.Builder
		props.WriteString(`"message_text_that_is_required":{"type":"string"},"kind_of_thing":{"type":"string","enum":["one","two","three"]}`)
		for _, name := range optional {
			props.WriteString(`,"` + name + `":{"type":"boolean","description":"It includes what the parameter says."}`)
		}
		return json.RawMessage(`{"type":"object","properties":{` + props.String() + `},"required":["message_text_that_is_required","kind_of_thing"]}`)
	}
	var tools []discovery.ListedTool
	for name, s := range map[string]json.RawMessage{
		"annotated": schema("title", "includeImage"),
		"page":      schema("limit", "page_size", "sort-order", "maxAttachments"),
		"many":      schema("image_a", "image_b", "image_c", "image_d", "image_e"),
		"plain":     schema("title", "limit"),
	} {
		tools = append(tools, discovery.ListedTool{Name: "widget_" + name, Description: "Widget of some kind.", InputSchema: s})
	}
	f := finderOf(t, discovery.Listing{Server: "hub", Tools: tools})
	for _, tt := range []struct{ query, tool, has, lacks string }{
		{"widget message with text and image content", "annotated", "includeImage?;/*+1", "title"},
		{"widget", "annotated", "/*+2", "includeImage"},
		{"widget images", "annotated", "includeImage?", ""},
		{"widget order", "page", "sort-order", "maxAttachments"},
		{"widget attachment", "page", "maxAttachments?", "sort-order"},
		{"widget page", "page", "page_size?", ""},
		{"widget image", "many", "image_a?;image_b?;image_c?;image_d?;/*+1", "image_e"},
		{"widget image", "plain", "/*+", "image"},
		{"widget the and for", "page", "/*+", "page_size"},
	} {
		a, err := f.Search(t.Context(), SearchRequest{Query: tt.query, Limit: 6})
		at := slices.IndexFunc(a.Tools, func(h SearchHit) bool { return h.Name == "hub__widget_"+tt.tool })
		if err != nil || at < 0 || len(a.Tools) <= fewHits {
			t.Fatalf("%s: %d hits, %v", tt.query, len(a.Tools), err)
		}
		if got := a.Tools[at].Signature; !strings.Contains(got, tt.has) || tt.lacks != "" && strings.Contains(got, tt.lacks) {
			t.Errorf("%s: %s has %s, want %s and not %s", tt.query, tt.tool, got, tt.has, tt.lacks)
		}
	}
}

// Lines for the parameters of queries are cached by these parameters, up to a bound.
func TestWantedLinesAreBounded(t *testing.T) {
	var cache lineCache
	c, _, tool := oneTool("to")
	made := 0
	get := func(wanted string) string {
		return cache.get(c, lineKey{tool, wanted}, func() codegen.Line { made++; return codegen.Line{Input: wanted} }).Input
	}
	for _, wanted := range []string{"", " limit", " page", " limit", "", " page", " limit page"} {
		if got := get(wanted); got != wanted {
			t.Errorf("with%s wanted, the line has%s", wanted, got)
		}
	}
	if made != 4 {
		t.Errorf("%d lines were made, want 4", made)
	}
	for i := range 3 * maxWantedLines {
		get(fmt.Sprint(" p", i))
		if len(cache.lines) > maxWantedLines+1 {
			t.Fatalf("%d lines are cached", len(cache.lines))
		}
	}
}

// A hit without a known result type does not look like one that gives nothing.
func TestUntypedHitsGiveAny(t *testing.T) {
	f := finderOf(t, discovery.Listing{Server: "hub", Tools: []discovery.ListedTool{
		{Name: "widget_a"}, {Name: "widget_b", InputSchema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`)},
		{Name: "widget_c", OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`)}, {Name: "widget_d"},
	}})
	a, err := f.Search(t.Context(), SearchRequest{Query: "widget", Limit: 8})
	if err != nil || len(a.Tools) != 4 {
		t.Fatalf("%d hits, %v", len(a.Tools), err)
	}
	notes := 0
	for _, h := range a.Tools {
		if !strings.Contains(h.Signature, "): Promise<") && !strings.Contains(h.Signature, "): any") && !strings.HasSuffix(h.Signature, "({q}) [write]") {
			t.Errorf("%s: %s", h.Name, h.Signature)
		}
		notes += strings.Count(h.Signature, "// JSON or text")
	}
	if notes != 1 {
		t.Errorf("the note is there %d times: %+v", notes, a.Tools)
	}
}
