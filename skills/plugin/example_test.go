package plugin_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpbroker/mcpbroker/skills/plugin"
)

func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{
		".claude-plugin/plugin.json": `{"name": "sales", "version": "1.0"}`,
		".mcp.json":                  `{"mcpServers": {"crm": {"url": "https://crm.example.com/mcp"}, "empty": {}}}`,
		"commands/report.md":         "Report on $ARGUMENTS.",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
	p, err := plugin.Load(dir)
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Servers[0].Name, string(p.Servers[0].Config))
	fmt.Println(p.Problems[0].Message)
	text, err := p.Commands[0].Text("May")
	fmt.Println(p.Commands[0].Name, text, err)
	// Output:
	// sales:crm {"url": "https://crm.example.com/mcp"}
	// server "empty" is left out: it has neither "command" nor "url"
	// sales:report Report on May. <nil>
}
