package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

func TestTheFormula(t *testing.T) {
	// Three turns read 110, 110+20 and 130+30 tokens.
	list := []exchange{{5, 15}, {10, 20}}
	if got, want := spend(100, 10, list, 1), (cost{100, 160, 110 + 130 + 160}); got != want {
		t.Errorf("spend = %+v, want %+v", got, want)
	}
	if got, want := spend(100, 10, list, 0.1), (cost{100, 160, 110 + 11 + 20 + 13 + 30}); got != want {
		t.Errorf("with a cache: spend = %+v, want %+v", got, want)
	}
	other := spend(50, 10, []exchange{{30, 100}}, 1)
	at := breakEven(spend(100, 10, list, 1), other, len(list), 1)
	if got := spend(at, 10, list, 1); got.read > other.read || spend(at+1, 10, list, 1).read <= other.read {
		t.Errorf("even at %d: %v and %v", at, got.read, other.read)
	}
}

func TestToolsThatDoTheSameAreOneStep(t *testing.T) {
	q := query{Relevant: []string{"playwright/playwright_fill", "playwright-mcp/browser_type", "puppeteer/puppeteer_fill", "a/write", "b/write", "a/read"}}
	want := [][]string{{"playwright/playwright_fill", "playwright-mcp/browser_type", "puppeteer/puppeteer_fill"}, {"a/write", "b/write"}, {"a/read"}}
	if diff := cmp.Diff(want, q.steps()); diff != "" {
		t.Error(diff)
	}
}

// catalogue has two servers, a task with both, and a query that finds one of them.
func catalogue(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tools.jsonl": `{"server":"hub","name":"list_issues","description":"List the issues of a repository","inputSchema":{"type":"object","properties":{"repo":{"type":"string"}},"required":["repo"]}}
{"server":"chat","name":"post","description":"Send a text to a channel","inputSchema":{"type":"object"}}
`,
		"tasks.jsonl":   `{"id":"task-7","query":"Tell the team about issues","relevant":["hub/list_issues","chat/post"]}` + "\n",
		"queries.jsonl": `{"id":"agent-7-0","query":"repository issues","relevant":["hub/list_issues"]}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTasksAreCompared(t *testing.T) {
	d, err := readData(catalogue(t), "tools.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	list, err := d.compare(t.Context(), assumptions{result: 100, read: 1, reread: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := list[0]
	if len(list) != 1 || c.task != "task-7" || c.calls != 2 || c.searches+c.browsed < 2 {
		t.Errorf("%+v", c)
	}
	// Two small tools are cheaper without a broker, and it has to say so.
	if c.broker.read <= c.direct.read || c.even <= c.direct.definitions {
		t.Errorf("two small tools cost %v, and %v with the broker; even at %d", c.direct, c.broker, c.even)
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"--data", catalogue(t)}, &out); err != nil || !strings.Contains(out.String(), " 1 tasks |") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// What is counted is what a client gets, but for the instructions.
func TestAnswersAreThoseOfClients(t *testing.T) {
	d, err := readData(catalogue(t), "tools.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	k, err := newAsker(d.listings)
	if err != nil {
		t.Fatal(err)
	}
	defer k.broker.Close()
	here, there := mcp.NewInMemoryTransports()
	server, err := k.broker.Server("test").Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	x, err := k.search(t.Context(), broker.SearchRequest{Query: "issues"}, map[string]bool{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_tools", Arguments: map[string]any{"query": "issues"}})
	if err != nil {
		t.Fatal(err)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if want, err := api.JSONTokens(json.RawMessage(text)); err != nil || x.answer != want {
		t.Errorf("%d tokens, want the %d of %s, %v", x.answer, want, text, err)
	}
}

// The command, from a state directory and from an export, and the ledger agree.
func TestTheLedgerSaysTheSame(t *testing.T) {
	dir := t.TempDir()
	store, err := sqlite.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, e := range []state.Execution{
		{Status: state.StatusDone, Code: "return 1", BytesIn: 5000, BytesOut: 1000, Calls: 3},
		{Status: state.StatusDone, Code: "return 22", BytesIn: 10, BytesOut: 900, Calls: 1}, // keeps nothing
		{Status: state.StatusInterrupted, BytesIn: 7000, Calls: 2},
	} {
		e.ID = store.Begin(e)
		if err := store.Finish(e); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	var lines strings.Builder
	err = store.Export(t.Context(), func(e state.Execution, calls []state.Call) error {
		return json.NewEncoder(&lines).Encode(map[string]any{"execution": e, "calls": calls})
	})
	if err != nil {
		t.Fatal(err)
	}
	lines.WriteString(`{"event":{"kind":"login"}}` + "\n")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ledger, err := (&api.Reader{Audit: store}).Ledger(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, file} {
		r, err := readAudit(t.Context(), path)
		if err != nil || r.executions != ledger.Executions || r.kept != ledger.BytesKept || r.kept != 4000 {
			t.Errorf("%s: %+v, %v; the ledger has %d bytes of %d executions", path, r, err, ledger.BytesKept, ledger.Executions)
		}
		var out strings.Builder
		if err := run(t.Context(), []string{"--audit", path, "--search", "200"}, &out); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			fmt.Sprintf("%10d tokens of results were kept out", ledger.TokensSaved.Results), "        -4 tokens of scripts", "-600 tokens of searches", "396 tokens less",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", path, want, &out)
			}
		}
	}
}
