package broker_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// What a client reads is made in outgoing.go alone, of texts that only
// internal/gate can make, and every server is gated.
func TestOnlyTheGateMakesWhatIsSent(t *testing.T) {
	made := []string{"TextContent", "ImageContent", "AudioContent", "EmbeddedResource", "ResourceLink", "ResourceContents", "ReadResourceResult",
		"GetPromptResult", "PromptMessage", "ElicitParams", "SamplingMessage", "SamplingMessageV2", "LoggingMessageParams"}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	servers, gated := 0, 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if name := ofMCP(n.Type); f.Name() != "outgoing.go" && slices.Contains(made, name) {
					t.Errorf("%s: mcp.%s is made outside outgoing.go: hand a gate.Text to a function there", set.Position(n.Pos()), name)
				}
			case *ast.CallExpr:
				if ofMCP(n.Fun) == "NewServer" {
					servers++
				}
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "gated" {
					gated++
				}
			}
			return true
		})
	}
	if servers != 1 || gated != 1 {
		t.Errorf("%d servers are made and %d gated; want the one of Broker.Server", servers, gated)
	}
}

// ofMCP is the name that e selects of package mcp.
func ofMCP(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if p, ok := s.X.(*ast.Ident); ok && p.Name == "mcp" {
			return s.Sel.Name
		}
	}
	return ""
}

func TestListServersIsBounded(t *testing.T) {
	var tools []listedTool
	for i := range 3000 {
		tools = append(tools, listedTool{Name: fmt.Sprintf("%s_%d", strings.Repeat("x", 100), i), InputSchema: stringParams()})
	}
	b := newBroker(t, broker.Options{Servers: []upstream.Config{listing(t, "many", tools...)}})
	eventually(t, "the server is listed", func() bool { return len(b.Catalog().Tools()) == len(tools) })
	a := b.ListServers("many")
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 10_000 || a.Servers[0].ToolCount != len(tools) {
		t.Errorf("%d bytes for %d tools", len(text), a.Servers[0].ToolCount)
	}
	next := len(a.Servers[0].Tools)
	if want := fmt.Sprintf(`the first %d of 3000 tools; search_tools {"query": "", "server": "many", "offset": %d} shows more`, next, next); !strings.HasPrefix(a.Note, want) {
		t.Errorf("note %q, want %q", a.Note, want)
	}
	found, err := b.Search(t.Context(), broker.SearchRequest{Server: "many", Offset: next})
	if err != nil || len(found.Tools) == 0 || found.Tools[0].Name != b.Catalog().Tools()[next].ID {
		t.Errorf("the search goes on with %d tools, the first of them not the next: %v", len(found.Tools), err)
	}
}
