package plugin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

// The broker's own plugin is one that it would install itself, and its skill one
// that it finds nothing wrong with.
func TestOwnPlugin(t *testing.T) {
	market, err := plugin.OpenMarket("../..")
	if err != nil {
		t.Fatal(err)
	}
	offer, err := market.Find("broker")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plugin.Load(filepath.Join("../..", offer.Path))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Problems) > 0 || p.Name != offer.Name || p.Description != offer.Description {
		t.Errorf("%+v, offered as %+v", p, offer)
	}
	if len(p.Servers) != 1 || !strings.Contains(string(p.Servers[0].Config), `"serve"`) {
		t.Errorf("servers: %+v", p.Servers)
	}
	roots := p.Roots()
	if len(roots) != 1 {
		t.Fatalf("roots: %+v", roots)
	}
	folders, err := os.ReadDir(roots[0].Path)
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	dir := filepath.Join(roots[0].Path, folders[0].Name())
	if found, err := skills.Lint(dir, nil); err != nil || len(found) > 0 {
		t.Errorf("%s: %v, %v", dir, found, err)
	}
	if ok, list := skills.ReadPath(dir).Judge(skills.Strict); !ok {
		t.Errorf("%s: %v", dir, list)
	}
}
