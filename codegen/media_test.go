package codegen_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/bridge"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

// Schemas of results with base64, as libraries of servers write them.
const (
	mediaZod  = `{"type":"object","properties":{"content":{"type":"array","items":{"anyOf":[{"type":"object","properties":{"type":{"type":"string","enum":["image","audio"]},"data":{"type":"string"},"mimeType":{"type":"string"}},"required":["type","data","mimeType"],"additionalProperties":false},{"type":"object","properties":{"type":{"type":"string","const":"resource"},"resource":{"type":"object","properties":{"uri":{"type":"string"},"mimeType":{"type":"string"},"blob":{"type":"string"}},"required":["uri","blob"]}},"required":["type","resource"]}]}}},"required":["content"]}`
	mediaRefs = `{"$defs":{"Image":{"type":"object","properties":{"type":{"const":"image"},"data":{"type":"string"},"mimeType":{"type":"string"},"annotations":{"anyOf":[{"type":"object"},{"type":"null"}]}},"required":["type","data","mimeType"]},` +
		`"Blob":{"type":"object","properties":{"uri":{"type":"string"},"mimeType":{"anyOf":[{"type":"string"},{"type":"null"}]},"blob":{"type":"string"}},"required":["uri","blob"]},` +
		`"Text":{"type":"object","properties":{"uri":{"type":"string"},"text":{"type":"string"}},"required":["uri","text"]},` +
		`"Embedded":{"type":"object","properties":{"type":{"const":"resource"},"resource":{"anyOf":[{"$ref":"#/$defs/Text"},{"$ref":"#/$defs/Blob"}]}},"required":["type","resource"]}},` +
		`"type":"object","properties":{"all":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/Blob"},{"$ref":"#/$defs/Image"},{"$ref":"#/$defs/Embedded"}]}}},"required":["all"]}`
	mediaBlock = `{"type":"object","properties":{"part":{"type":"object","properties":{"type":{"type":"string"},"text":{"type":"string"},"data":{"type":"string"},"mimeType":{"type":"string"}},"required":["type"]}}}`
	mediaChart = `{"type":"object","properties":{"type":{"const":"chart"},"mimeType":{"type":"string"},"data":{"type":"string"}},"required":["type","mimeType","data"]}`
)

// The declared type of a result has the fields that the bridge gives for it.
func TestBase64IsAReferenceInDeclaredTypes(t *testing.T) {
	tests := []struct{ name, schema, sent, line string }{
		{"an image", mediaZod, `{"content":[{"type":"image","mimeType":"image/png","data":"aGk="}]}`, "{content:({type;mimeType;size;ref})[]}"},
		{"a file", mediaZod, `{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"a/b","blob":"aGk="}}]}`, "{content:({type;mimeType;size;ref})[]}"},
		{"by reference", mediaRefs, `{"all":[{"type":"image","mimeType":"image/png","data":"aGk="}]}`, ""},
		{"a blob by reference", mediaRefs, `{"all":[{"uri":"file:///a","mimeType":"a/b","blob":"aGk="}]}`, ""},
		{"an embedded blob", mediaRefs, `{"all":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"a/b","blob":"aGk="}}]}`, ""},
		{"an embedded text", mediaRefs, `{"all":[{"type":"resource","resource":{"uri":"file:///a","text":"hi"}}]}`, ""},
		{"a block of any kind, an image", mediaBlock, `{"part":{"type":"image","mimeType":"image/png","data":"aGk="}}`, ""},
		{"a block of any kind, a text", mediaBlock, `{"part":{"type":"text","text":"hi"}}`, ""},
		{"data that is not base64", mediaChart, `{"type":"chart","mimeType":"application/json","data":"{}"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := discovery.NewCatalog([]discovery.Listing{{Server: "files", Tools: []discovery.ListedTool{{Name: "read", OutputSchema: json.RawMessage(tt.schema)}}}})
			tool, _ := c.Tool("files__read")
			server, _ := c.Server("files")
			g := new(codegen.Generator)
			keep := func(string, []byte) string { return "r_1" }
			value, err := bridge.Value(tool, json.RawMessage(`{"content":[],"structuredContent":`+tt.sent+`}`), keep)
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal(value, &v); err != nil {
				t.Fatal(err)
			}
			compareFields(t, "value", v, g.Fields(tool))
			if tt.name != "data that is not base64" && strings.Contains(string(value), `"ref"`) {
				for _, text := range []string{g.Signature(server, tool), g.Declaration(server, tool), g.Wrapper(tool), g.Line(server, tool).Output} {
					if !strings.Contains(text, "ref") || strings.Contains(text, "blob:") || strings.Contains(text, "data: string") {
						t.Errorf("%s\ndoes not say what a script gets: %s", text, value)
					}
				}
			}
			if got := g.Line(server, tool).Output; tt.line != "" && got != tt.line {
				t.Errorf("line %s, want %s", got, tt.line)
			}
			if text := g.Wrapper(tool); strings.Contains(text, "ref") && !strings.Contains(text, "results.get(ref, { encoding: 'base64' })") {
				t.Errorf("%s\ndoes not say how to get the bytes", text)
			}
		})
	}
}

// compareFields finds fields of a value that its type does not have.
func compareFields(t *testing.T, path string, v any, f *codegen.Fields) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			if f == nil || f.Props == nil {
				continue
			}
			of, ok := f.Props[name]
			if !ok {
				t.Errorf("%s.%s is not declared: %s", path, name, spell(f))
			}
			compareFields(t, path+"."+name, item, of)
		}
	case []any:
		for _, item := range v {
			if f != nil {
				compareFields(t, path+"[]", item, f.Elem)
			}
		}
	}
}

// Arguments with data keep it.
func TestBase64InArgumentsStays(t *testing.T) {
	input := `{"type":"object","properties":{"image":` + `{"type":"object","properties":{"type":{"const":"image"},"data":{"type":"string"},"mimeType":{"type":"string"}},"required":["type","data","mimeType"]}` + `}}`
	c := discovery.NewCatalog([]discovery.Listing{{Server: "files", Tools: []discovery.ListedTool{{Name: "write", InputSchema: json.RawMessage(input)}}}})
	tool, _ := c.Tool("files__write")
	server, _ := c.Server("files")
	if sig := new(codegen.Generator).Signature(server, tool); !strings.Contains(sig, "data: string") {
		t.Error(sig)
	}
}
