package surface

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a client reads is made in surface/outgoing.go alone, of texts that only
// internal/gate can make, and every server is gated.
func TestOnlyTheGateMakesWhatIsSent(t *testing.T) {
	made := []string{"TextContent", "ImageContent", "AudioContent", "EmbeddedResource", "ResourceLink", "ResourceContents", "ReadResourceResult",
		"GetPromptResult", "PromptMessage", "ElicitParams", "SamplingMessage", "SamplingMessageV2", "LoggingMessageParams"}
	servers, gated, seen := 0, 0, 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		outgoing := name == filepath.Join("..", "surface", "outgoing.go")
		if outgoing {
			seen++
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if name := ofMCP(n.Type); !outgoing && slices.Contains(made, name) {
					t.Errorf("%s: mcp.%s is made outside outgoing.go: hand a gate.Text to a function there", set.Position(n.Pos()), name)
				}
			case *ast.CallExpr:
				if ofMCP(n.Fun) == "NewServer" {
					servers++
				}
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "gated" {
					gated++
				}
			}
			return true
		})
		return nil
	})
	if err != nil || seen != 1 {
		t.Fatalf("outgoing.go was read %d times: %v", seen, err)
	}
	if servers != 1 || gated != 1 {
		t.Errorf("%d servers are made and %d gated; want the one of Surface.Server", servers, gated)
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
