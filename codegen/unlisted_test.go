package codegen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

// The modules of a server with unknown tools have a function for every name.
func TestModulesOfServersThatAreNotListed(t *testing.T) {
	s := discovery.NewCatalog([]discovery.Listing{{Server: "my-shop"}}).Servers()[0]
	m := codegen.UnlistedModule(s, slices.Values([]string{"list", "list_all", "delete", "then", "12", "a-b", "ünï"}))
	if got := strings.Join(m.Exports, " "); got != "list list_all delete ünï" || m.Global != "myShop" || !strings.Contains(m.Source, `callMCPTool("my_shop", "list_all", input)`) {
		t.Errorf("exports %s of %s:\n%s", got, m.Global, m.Source)
	}
	py := codegen.UnlistedPython(s)
	if !strings.Contains(py, "def __getattr__(name)") || !strings.Contains(py, `call_mcp_tool("my_shop", name, input`) {
		t.Errorf("in Python:\n%s", py)
	}
}

// With the fallback, a module has its functions and one for every other name except
// private ones; these call the tool by the names of server and tool.
func TestPythonFallback(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	s := discovery.NewCatalog([]discovery.Listing{{Server: "my-shop", Tools: []discovery.ListedTool{{Name: "list_items"}}}}).Servers()[0]
	dir := t.TempDir()
	for path, text := range map[string]string{
		"helpers/call_mcp_tool.py": "async def call_mcp_tool(*values, **arguments):\n    print(*values, arguments)\n",
		"shop.py":                  new(codegen.Generator).PythonModule(s) + codegen.PythonFallback(s),
		"unlisted.py":              codegen.UnlistedPython(s),
		"main.py": "import asyncio, shop, unlisted\nfrom shop import buy\n" +
			"for f in shop.list_items, shop.delete_item, buy, unlisted.any_tool:\n    asyncio.run(f({'id': 1}))\n" +
			"try:\n    shop._private\nexcept AttributeError as e:\n    print('no', e)\n",
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), python, filepath.Join(dir, "main.py")).CombinedOutput()
	want := "my_shop__list_items {'id': 1} {}\nmy_shop delete_item {'id': 1} {}\nmy_shop buy {'id': 1} {}\nmy_shop any_tool {'id': 1} {}\nno _private\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s, want\n%s", err, out, want)
	}
}
