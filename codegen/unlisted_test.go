package codegen_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

// The modules of a server whose tools are not known have a function for every name.
func TestModulesOfServersThatAreNotListed(t *testing.T) {
	s := discovery.NewCatalog([]discovery.Listing{{Server: "my-shop"}}).Servers()[0]
	m := codegen.UnlistedModule(s, slices.Values([]string{"list", "list_all", "delete", "then", "12", "a-b", "ünï"}))
	if got := strings.Join(m.Exports, " "); got != "list list_all delete ünï" || m.Global != "myShop" || !strings.Contains(m.Source, `callMCPTool("my_shop__list_all", input)`) {
		t.Errorf("exports %s of %s:\n%s", got, m.Global, m.Source)
	}
	py := codegen.UnlistedPython(s)
	if !strings.Contains(py, "def __getattr__(name)") || !strings.Contains(py, `"my_shop__"`) {
		t.Errorf("in Python:\n%s", py)
	}
}
