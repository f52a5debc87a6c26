package broker_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
)

// The wrapper that a search hit names can be read as a resource, in both
// protocol eras.
func TestWrappersAreResources(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	b.Refresh(t.Context())
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			cs := connect(t, b, version, nil)
			list, err := cs.ListResources(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var uris []string
			for _, r := range list.Resources {
				uris = append(uris, r.URI)
			}
			if !slices.IsSorted(uris) || !slices.Contains(uris, "broker://code/servers/files/index.ts") || !slices.Contains(uris, "broker://code/servers/notes/createNote.ts") {
				t.Errorf("listed are %q", uris)
			}
			templates, err := cs.ListResourceTemplates(t.Context(), nil)
			if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "broker://code/{+path}" {
				t.Errorf("templates are %+v, %v", templates, err)
			}
			text, _ := call(t, cs, "search_tools", map[string]any{"query": "read a file", "detail": "full", "limit": 1})
			if !strings.Contains(text, `"wrapper_path":"servers/files/readFile.ts"`) {
				t.Fatalf("no wrapper_path in %s", text)
			}
			res, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "broker://code/servers/files/readFile.ts"})
			if err != nil {
				t.Fatal(err)
			}
			if text := res.Contents[0].Text; !strings.Contains(text, `callMCPTool<Output>("files__read_file", input)`) || res.Contents[0].MIMEType != "text/typescript" {
				t.Errorf("the wrapper is %+v", res.Contents[0])
			}
			for _, uri := range []string{"broker://code/servers/files/nothing.ts", "broker://code/../servers.json", "broker://code/", "broker://other/x"} {
				if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
					t.Errorf("%s can be read", uri)
				}
			}
		})
	}
}
