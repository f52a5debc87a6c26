package broker_test

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
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

// Traces, also those that a script prints, errors and the record have the name of the
// script's file.
func TestTheRecordHasTheNameOfTheFile(t *testing.T) {
	log, err := sqlite.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	b := newBroker(t, broker.Deps{Audit: log}, broker.Settings{})
	for _, tt := range []struct{ file, code, recorded, printed string }{
		{"report.ts", "console.log(new Error('x').stack); return null.x", "", "at report.ts:1:"},
		{"dir/a-b_c.mts", "let x = ;", "dir/a-b_c.mts:1:9: ", ""},
		{"C:\\work\\report.js", "import x from './nope'", "C:\\work\\report.js:1:15: cannot find module", ""},
		{"my report (1).ts", "throw 1;;let x = ;", "my report (1).ts:1:18: ", ""},
		{"broker-script.js", "let x = ;", "broker-script.js:1:9: ", ""},
	} {
		a := b.Execute(t.Context(), broker.ExecuteRequest{Code: tt.code, File: tt.file})
		list, err := log.List(t.Context(), state.Filter{})
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		if e := list[0]; !strings.Contains(e.Error, tt.recorded) || strings.Contains(e.Error, "agent.") || !strings.Contains(a.Stdout, tt.printed) {
			t.Errorf("%s: recorded %q, printed %q, want %q", tt.file, e.Error, a.Stdout, tt.recorded+tt.printed)
		}
		if want := strings.TrimPrefix(tt.file, "C:\\work\\"); !strings.Contains(a.Diagnostics, want+":") || strings.Contains(a.Diagnostics, "agent.") {
			t.Errorf("%s: %s", tt.file, a.Diagnostics)
		}
	}
}
