package console_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/state"
)

// skillFolder has one skill.
func skillFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "notes"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes", "SKILL.md"), []byte("---\nname: notes\ndescription: Writes notes. Use for notes.\n---\n\n# <b>Do</b> it.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fullPlace has something in each panel: 10,000 executions, one of 500 calls, names
// and results that are HTML, secrets, a call that waits, and servers that are dead
// and that hang. It returns what of it the browser has to know.
func fullPlace(t *testing.T) (*place, map[string]any) {
	t.Helper()
	p := newPlace(t, []upstream.Config{{Name: "shelf", Description: "The books of the library: list, lend, add and delete them.", URL: shelf(t)}, {Name: "dead", Command: "/nowhere/server"}, {Name: "hanging", URL: hanging(t)}, {Name: "locked", URL: locked(t)}}, skillFolder(t))
	var many sync.WaitGroup
	for range 100 {
		many.Go(func() {
			for range 100 {
				p.record("stdio", 20_000, state.Call{Server: "shelf", Tool: "list_books", ID: "shelf__list_books", Status: state.CallOK, Class: "read", Decision: "allow preset balanced", Duration: time.Millisecond, ArgBytes: 2, ResultBytes: 20_000})
			}
		})
	}
	many.Wait()
	p.record("odd", 1, state.Call{Server: "shelf", Tool: "delete_book", ID: "shelf__delete_book", Status: state.CallOK, Class: "destructive", Args: []byte(`{"title":"Persuasion","copies":2}`)})
	p.store.Note(state.Event{Kind: state.EventSkillActivated, Name: "notes", Client: "stdio"})
	id := p.plant()
	calls := make([]state.Call, 500)
	for i := range calls {
		calls[i] = state.Call{Server: "shelf", Tool: "list_books", ID: "shelf__list_books", Status: state.CallOK, Class: "read", Duration: 10 * time.Millisecond}
	}
	long := p.record("odd", 20_000, calls...)
	asks := p.broker.Execute(t.Context(), broker.ExecuteRequest{Code: `// Delete a lost book, and count.
// Lend Emma no more.
const title = 'Emma';
const why = 'lost';
await callMCPTool('shelf__delete_book', { title, token: '` + secret + `' });
const one = 1;
const two = 2;
const three = 3;
return one + two + three;`, Language: "javascript", Client: "stdio", ClientInfo: "claude-code", Owner: state.Local})
	if asks.RunID == "" {
		t.Fatalf("no run waits: %+v", asks)
	}
	return p, map[string]any{"full": p.url, "execution": id, "long": long, "server": "shelf", "shelf": shelf(t), "shown": p.page.URL(p.addr, false, false)}
}

// plant records calls whose names, errors and values are HTML and secrets.
func (p *place) plant() (id string) {
	call := state.Call{Server: "shelf", Tool: "<img src=x onerror=alert(1)>", ID: "x", Status: state.CallOK, Class: "write", Args: []byte(`{"token":"` + secret + `"}`), Result: []byte(`"<img src=x onerror=alert(1)>"`), Duration: 10 * time.Millisecond, Waited: 4 * time.Millisecond, Line: 2}
	failed := call
	failed.Status, failed.Error = state.CallError, "<script>alert(1)</script> "+secret
	return p.record("odd", 20_000, call, failed)
}

// fill records a million calls. The first of them is like no other.
func (p *place) fill() {
	p.record("ann", 1, state.Call{Server: "rare", Tool: "find_me", ID: "rare__find_me", Status: state.CallOK, Class: "read"})
	db, err := sql.Open("sqlite", filepath.Join(p.dir, "audit.db"))
	if err != nil {
		p.t.Error(err)
		return
	}
	defer db.Close()
	_, err = db.ExecContext(p.t.Context(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999999)
		INSERT INTO calls (n, execution, seq, server, tool, tool_id, started, duration, status, arg_bytes, result_bytes, error, args, class, decision)
		SELECT first + i, '', 1, 'shelf', 'list_books', 'shelf__list_books', started + i * 1000000, 1000000, 'ok', 2, 100, '', '{"path":"docs/readme.md","limit":50}', 'read', 'allow preset balanced' FROM n, (SELECT n AS first, started FROM calls);
		UPDATE head SET n = n + 999999`)
	if err != nil {
		p.t.Error(err)
	}
}

// demoPlace is what the pictures of docs/console.md show: the same each time.
func demoPlace(t *testing.T) *place {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "github", Version: "1"}, nil)
	for _, verb := range []string{"list", "get", "search", "create", "update", "close"} {
		for _, what := range []string{"issue", "pull_request", "branch", "release", "comment", "label", "workflow_run"} {
			s.AddTool(&mcp.Tool{Name: verb + "_" + what, Description: "Works on one " + what + " of a repository: " + verb + ". Give the owner and the name of the repository, and what it is about.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"owner":{"type":"string","description":"The account that owns the repository."},"repo":{"type":"string","description":"The name of the repository, without its owner."},"number":{"type":"integer","description":"Which one of them."}},"required":["owner","repo"]}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, nil
				})
		}
	}
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	p := newPlace(t, []upstream.Config{{Name: "github", URL: server.URL}}, skillFolder(t))
	noon := time.Date(2026, time.January, 15, 12, 0, 0, 0, time.UTC)
	type step struct {
		server, tool, class string
		at, took            int // milliseconds
		size                int64
		err                 string
	}
	scripts := []struct {
		client, code string
		kept         int64
		steps        []step
		err          string
	}{
		{"Claude Code", "// Post a digest of stale issues.\nconst issues = await github.listIssues({ owner: 'acme', repo: 'site', state: 'OPEN' });\n", 184_000,
			[]step{{"github", "list_issues", "read", 6, 412, 171_000, ""}, {"github", "get_issue", "read", 424, 188, 4_100, ""}, {"github", "get_issue", "read", 425, 240, 3_900, ""}, {"github", "get_issue", "read", 425, 205, 5_200, ""},
				{"google-drive", "find_document", "read", 668, 301, 900, ""}, {"slack", "post_message", "write", 975, 154, 120, ""}}, ""},
		{"Cursor", "const doc = await googleDrive.getDocument({ id });\nreturn doc.headings;\n", 96_400, []step{{"google-drive", "get_document", "read", 5, 830, 96_400, ""}}, ""},
		{"Claude Code", "// Which invoices are overdue?\nconst rows = await stripe.listInvoices({ status: 'open', limit: 100 });\n", 512_000,
			[]step{{"stripe", "list_invoices", "read", 7, 1210, 512_000, ""}}, ""},
		{"Codex", "await postgres.query({ sql: 'select * from orders' });\n", 0, []step{{"postgres", "query", "read", 4, 3002, 0, "canceling statement due to statement timeout"}}, "postgres.query: canceling statement due to statement timeout"},
		{"VS Code", "const files = await filesystem.searchFiles({ pattern: '*.md' });\nreturn files.length;\n", 22_100, []step{{"filesystem", "search_files", "read", 3, 48, 22_100, ""}}, ""},
	}
	for day := 20; day >= 0; day-- {
		for i, s := range slices.Backward(scripts) {
			if (day+i)%3 == 2 && day > 0 {
				continue
			}
			began := noon.Add(-time.Duration(day)*24*time.Hour - time.Duration(i*7+3)*time.Minute)
			e := state.Execution{ID: fmt.Sprintf("e_01kf%02d%dz3v7q9m2c", day, i), Client: s.client, Language: "typescript", Code: s.code, Started: began}
			id, last := p.store.Begin(e), 0
			for n, c := range s.steps {
				call := state.Call{ExecutionID: id, Seq: n + 1, Server: c.server, Tool: c.tool, ID: c.server + "__" + c.tool, Class: c.class, Status: state.CallOK, Decision: "allow preset balanced",
					Started: began.Add(time.Duration(c.at) * time.Millisecond), Duration: time.Duration(c.took) * time.Millisecond, Waited: time.Duration(c.took) * time.Millisecond / 20, Line: 2, ArgBytes: 60, ResultBytes: c.size, Args: []byte(`{"owner":"acme","repo":"site"}`)}
				if n == 0 { // its server starts
					call.Waited *= 8
				}
				if c.err != "" {
					call.Status, call.Error = state.CallError, c.err
				}
				p.store.Record(call)
				last = max(last, c.at+c.took)
			}
			took := time.Duration(last+9) * time.Millisecond
			e = state.Execution{ID: id, Duration: took, Prepared: 2 * time.Millisecond, Opened: time.Millisecond, Ended: began.Add(took), Calls: len(s.steps), BytesIn: s.kept, BytesOut: min(s.kept, 740), Error: s.err}
			if s.err != "" {
				e.ExitCode = 1
			}
			if err := p.store.Finish(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p
}
