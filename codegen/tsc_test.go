package codegen_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

const trackerTools = `[
 {"name":"list_tickets","inputSchema":{"type":"object","properties":{"project":{"type":"string"},"state":{"enum":["OPEN","CLOSED"]},"perPage":{"type":"integer"}},"required":["project"]},
  "outputSchema":{"type":"object","properties":{"tickets":{"type":"array","items":{"$ref":"#/$defs/Ticket"}}},"required":["tickets"],
   "$defs":{"Ticket":{"type":"object","properties":{"key":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Ticket"}}},"required":["key"]}}}},
 {"name":"delete","inputSchema":{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}}
]`

// An editor's compiler takes the scripts that run, and finds the mistakes of
// those that do not, before anything has run.
func TestCompilerJudgesScripts(t *testing.T) {
	tsc := filepath.Join(os.Getenv("BROKER_NPM"), "node_modules", ".bin", "tsc")
	if _, err := os.Stat(tsc); os.Getenv("BROKER_NPM") == "" || err != nil {
		if os.Getenv("BROKER_CI") != "" {
			t.Fatalf("TypeScript's compiler is not below $BROKER_NPM: %v", err)
		}
		t.Skip("needs Node and the npm packages that .ci/run installs below $BROKER_NPM")
	}
	dir := t.TempDir()
	tools := []byte(trackerTools)
	listings := []discovery.Listing{{Server: "my-tracker", Tools: toolsOf(t, tools)}, {Server: "console", Tools: toolsOf(t, tools)}, {Server: "empty"}}
	for _, odd := range []string{"reserved", "names"} {
		ar, err := txtar.ParseFile("testdata/" + odd + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		var tools []listed
		if err := json.Unmarshal(ar.Files[0].Data, &tools); err != nil {
			t.Fatal(err)
		}
		listings = append(listings, listingsOf(tools)...)
	}
	for f := range new(codegen.Generator).Files(discovery.NewCatalog(listings)) {
		write(t, filepath.Join(dir, f.Path), string(f.Data))
	}
	const from = "import { listTickets, delete_ as remove } from './servers/my-tracker';\n"
	for _, c := range []struct{ name, script, want string }{
		{"all that there is", from + `
import { listTickets as again, type ListTicketsInput } from '@/servers/my-tracker/index';
import type { Output } from './servers/my-tracker/listTickets';
import { callMCPTool as call, ToolError as Failure } from './helpers/callMCPTool';
const input: ListTicketsInput = { project: 'OPS', state: 'OPEN', perPage: 5 };
const found: Output = await listTickets(input);
const keys: string[] = found.tickets.map((t) => t.children?.[0].key ?? t.key);
await Promise.all([again(input), myTracker.delete_({ key: keys[0] }), console_.listTickets(input)]);
try {
  const raw = await call('my_tracker__delete', { key: 'OPS-1' });
  console.log(raw.anything, await callMCPTool<number>('x') + 1);
  (await remove({ key: 'a' })).whatever.it.is;
} catch (e) {
  if (e instanceof ToolError && e.retryable) console.error(e.server, e.hint, e instanceof Failure);
}
const hits = await tools.search('tickets', { limit: 3 });
store.set('cursor', { page: 2 });
await new Promise((done) => setTimeout(done, 1));
export default { keys, hits, whole: await results.get('r_abc') };
`, ""},
		{"misspelt import", "import { listTicket } from './servers/my-tracker';\nlistTicket;", "'listTickets'"},
		{"missing argument", from + "await listTickets({ state: 'OPEN' });", "TS2345|TS2741"},
		{"wrong literal", from + "await listTickets({ project: 'p', state: 'open' });", "'\"OPEN\"'"},
		{"unknown key", from + "await listTickets({ project: 'p', perpage: 1 });", "'perPage'"},
		{"wrong type", from + "await listTickets({ project: 'p', perPage: '1' });", "TS2322"},
		{"misspelt field", from + "(await listTickets({ project: 'p' })).ticket;", "'tickets'"},
		{"forgotten await", from + "listTickets({ project: 'p' }).tickets;", "TS2339"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(dir, "script.ts")
			write(t, file, c.script)
			out, err := exec.CommandContext(t.Context(), tsc, "--noEmit", "--pretty", "false", "-p", dir).CombinedOutput()
			if exit, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
				t.Fatal(err)
			} else if failed == (c.want == "") {
				t.Fatalf("%v: %s", exit, out)
			}
			for line := range strings.Lines(string(out)) {
				if !strings.HasPrefix(line, "script.ts") && !strings.HasPrefix(line, " ") && !strings.Contains(line, "/script.ts") {
					t.Errorf("a mistake elsewhere: %s", line)
				}
			}
			wanted := c.want == ""
			for one := range strings.SplitSeq(c.want, "|") {
				wanted = wanted || strings.Contains(string(out), one)
			}
			if !wanted {
				t.Errorf("got %s, want %s", out, c.want)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
