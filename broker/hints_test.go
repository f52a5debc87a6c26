package broker_test

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// Messages use the names in the script: the name of its file, and names of servers that
// mean something else as identifiers.
func TestMistakesHaveTheNamesOfTheScript(t *testing.T) {
	var servers []upstream.Config
	for _, name := range []string{"fs", "process", "my-notes"} {
		servers = append(servers, listing(t, name, listedTool{Name: "read_file", Description: "Read.", InputSchema: stringParams("path")}))
	}
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: servers})
	b.Refresh(t.Context())
	for code, want := range map[string]string{
		"return await fs.readFile({ path: 'a' })":             "tools/a.ts:1:14: fs is not defined: the server fs is fs_ in scripts",
		"return await process.readFile({ path: 'a' })":        "tools/a.ts:1:14: process is not defined: the server process is process_ in scripts",
		"return await my_notes.readFile({ path: 'a' })":       "the server my-notes is myNotes in scripts",
		"import { readFile } from 'fs'; return readFile('a')": "the server is ./servers/fs",
		"\nthrow new Error('x')":                              "at tools/a.ts:2:",
		"return await fs_.readFile({ pth: 'a' })":             "tools/a.ts:1:29: ",
		"def main():\n  return 1":                             "this looks like Python",
		"import os\nprint(os.getcwd())":                       "this looks like Python",
		"for note in notes:\n    print(note)":                 "this looks like Python",
		"return process.env.HOME":                             "process is not available",
		"return typeof fs + document.title":                   "document is not available",
	} {
		a := b.Execute(t.Context(), broker.ExecuteRequest{Code: code, File: "tools/a.ts"})
		if text := a.Diagnostics + a.Hint; a.ExitCode == 0 || !strings.Contains(text, want) || strings.Contains(text, "agent.ts") {
			t.Errorf("%s: exit %d, %s, want %s", code, a.ExitCode, text, want)
		}
	}
	if a := b.Execute(t.Context(), broker.ExecuteRequest{Code: "throw new Error('x')"}); !strings.Contains(a.Diagnostics, "agent.ts:1:") {
		t.Errorf("a script without a file: %s", a.Diagnostics)
	}
}
