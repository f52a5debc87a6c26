package broker_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/tokens"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// surfaceOf returns the surface of a broker with n configured servers, of which
// nothing is known yet.
func surfaceOf(t testing.TB, mode broker.Mode, n int) broker.Surface {
	t.Helper()
	b, err := broker.New(broker.Deps{Runner: worker.New(&worker.Options{Spares: -1}), Version: "1"}, broker.Settings{Servers: surfaceServers(n), Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b.Surface()
}

func surfaceServers(n int) []upstream.Config {
	var servers []upstream.Config
	for i := range n {
		servers = append(servers, upstream.Config{Name: fmt.Sprintf("%s-%d", []string{"github", "slack", "google-drive", "postgres"}[i%4], i), Command: "none"})
	}
	return servers
}

// What every agent pays for in every turn is a golden file: a change of it is
// seen in review, with its price.
func TestSurfaceGolden(t *testing.T) {
	var b bytes.Buffer
	for _, mode := range []broker.Mode{broker.ModeCode, broker.ModeAuto, broker.ModeTools} {
		fmt.Fprintf(&b, "mode %s\n", mode)
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := enc.Encode(surfaceOf(t, mode, 2)); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{2, 20, 60} {
			fmt.Fprintf(&b, "%d servers: %d tokens\n", n, surfaceTokens(t, surfaceOf(t, mode, n)))
		}
	}
	wantGolden(t, "testdata/surface.golden", b.String())
}

// wantGolden compares a surface with the one that was accepted.
func wantGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the surface changed; go test ./broker -update accepts it (-want +got):\n%s", diff)
	}
}

// surfaceTokens counts name, description and schema of all tools, as a client
// puts them into a model's context.
func surfaceTokens(t testing.TB, s broker.Surface) int {
	t.Helper()
	n, err := tokens.Count(string(definitions(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func definitions(t testing.TB, s broker.Surface) []byte {
	t.Helper()
	type definition struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		InputSchema any    `json:"inputSchema"`
	}
	var defs []definition
	for _, tool := range s.Tools {
		defs = append(defs, definition{tool.Name, tool.Description, tool.InputSchema})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(defs); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

func TestSurfaceKeepsToItsBudget(t *testing.T) {
	for _, mode := range []broker.Mode{broker.ModeCode, broker.ModeAuto, broker.ModeTools} {
		if n := len(definitions(t, surfaceOf(t, mode, 2))); n > 3000 {
			t.Errorf("mode %s: the tools of a broker with two servers take %d bytes, want at most 3000", mode, n)
		}
		for _, n := range []int{0, 2, 20, 60} {
			checkBudget(t, fmt.Sprintf("mode %s, %d servers", mode, n), surfaceOf(t, mode, n), n)
		}
	}
}

func checkBudget(t *testing.T, name string, s broker.Surface, servers int) {
	t.Helper()
	if got := surfaceTokens(t, s); got > 600 && servers <= 20 {
		t.Errorf("%s: %d tokens, want at most 600", name, got)
	}
	if n := len([]rune(s.Instructions)); n >= 512 {
		t.Errorf("%s: instructions of %d characters, want fewer than 512", name, n)
	}
	if strings.Contains(s.Instructions, "skill") {
		t.Errorf("%s: instructions about skills, and there are none: %s", name, s.Instructions)
	}
	for _, tool := range s.Tools {
		if n := len([]rune(tool.Description)); n >= 1000 {
			t.Errorf("%s: %s is described in %d characters, want fewer than 1000", name, tool.Name, n)
		}
		if tool.Meta["anthropic/alwaysLoad"] != true || tool.Annotations == nil {
			t.Errorf("%s: %s lacks _meta or annotations", name, tool.Name)
		}
	}
}

// Both protocol eras see the same three tools, before any server has answered.
func TestToolsListNeverWaits(t *testing.T) {
	t.Parallel()
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{{Name: "hangs", Command: "sleep", Args: []string{"60"}}}})
	var lists []string
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		cs := connect(t, b, version, nil)
		res, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range res.Tools {
			names = append(names, tool.Name)
		}
		lists = append(lists, strings.Join(names, " "))
	}
	for _, l := range lists {
		if l != "execute_code list_servers search_tools" {
			t.Errorf("tools/list is %q", l)
		}
	}
}

func TestListServers(t *testing.T) {
	dead := upstream.Config{Name: "dead", Command: "/no/such/program"}
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "files"), dead}})
	b.Refresh(t.Context())
	cs := connect(t, b, "2025-11-25", nil)
	text, isError := call(t, cs, "list_servers", nil)
	var a broker.ServersAnswer
	if err := json.Unmarshal([]byte(text), &a); err != nil || isError {
		t.Fatalf("%v: %s", err, text)
	}
	if a.TotalTools != 4 || len(a.Servers) != 2 || a.Servers[0].ToolCount != 4 || a.Servers[0].Error != "" {
		t.Errorf("servers %s", text)
	}
	if d := a.Servers[1]; d.Status != "failed" || !strings.Contains(d.Error, "/no/such/program") {
		t.Errorf("the dead server is %+v, want its reason", d)
	}
	text, _ = call(t, cs, "list_servers", map[string]any{"server": "files"})
	if !strings.Contains(text, `"tools":["files__delete_file","files__list_rows"`) || strings.Contains(text, "dead") {
		t.Errorf("one server: %s", text)
	}
	text, _ = call(t, cs, "list_servers", map[string]any{"server": "flies"})
	if !strings.Contains(text, "did you mean files?") {
		t.Errorf("unknown server: %s", text)
	}
}

func TestSearchTools(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	b.Refresh(t.Context())
	cs := connect(t, b, "2026-07-28", nil)
	for _, c := range []struct {
		name    string
		args    map[string]any
		isError bool
		want    []string
		lacks   []string
	}{
		{"by words", map[string]any{"query": "reading files"}, false,
			[]string{`"name":"files__read_file","signature":"({path}): any // JSON or text"`, `"Read the text of a file"`},
			[]string{"reading files", "Fails if there is none"}},
		{"writers are marked", map[string]any{"query": "delete"}, false, []string{"Delete a file for good. [write]"}, nil},
		{"names only", map[string]any{"query": "file", "detail": "name"}, false, []string{`{"name":"files__read_file","server":"files"}`}, []string{"signature"}},
		{"in full", map[string]any{"query": "files.read_file", "detail": "full", "limit": 1}, false, []string{`"declaration":"files.readFile(input: { path: string })`, "Fails if there is none", `"parameters":{"type":"object"`}, []string{"omitted"}},
		{"on one server", map[string]any{"query": "note file", "server": "notes"}, false, []string{"notes__create_note"}, []string{"files__"}},
		{"on no server", map[string]any{"query": "note", "server": "notebook"}, false, []string{"notes__create_note", "searched for as words"}, nil},
		{"nothing found", map[string]any{"query": "qead_qile"}, false, []string{`"match_count":0,"showing":0,"tools":[]`, "files__read_file", "note"}, nil},
		{"no words", map[string]any{"query": ""}, false, []string{`"match_count":5`}, nil},
		{"arguments in a string", map[string]any{"arguments": `{"query":"note"}`}, false, []string{"notes__create_note"}, nil},
		{"unknown detail", map[string]any{"query": "x", "detail": "huge"}, true, []string{"use name, desc or full"}, nil},
		{"limit of words", map[string]any{"query": "x", "limit": "many"}, true, []string{"use a number"}, nil},
		{"limit 0", map[string]any{"query": "x", "limit": 0}, true, []string{"use 1 to 50"}, nil},
		{"limit 10000", map[string]any{"query": "file", "limit": 10000}, false, []string{"limit is at most 50"}, nil},
		{"query syntax", map[string]any{"query": `+-:*" (file`}, false, []string{"files__read_file"}, nil},
	} {
		text, isError := call(t, cs, "search_tools", c.args)
		if isError != c.isError || !isError && !json.Valid([]byte(text)) {
			t.Errorf("%s: error %v: %s", c.name, isError, text)
		}
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: answer lacks %s:\n%s", c.name, w, text)
			}
		}
		for _, w := range c.lacks {
			if strings.Contains(text, w) {
				t.Errorf("%s: answer has %s:\n%s", c.name, w, text)
			}
		}
	}
}

func TestExecuteThroughMCP(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		cs := connect(t, b, version, nil)
		text, isError := call(t, cs, "execute_code", map[string]any{"code": "return (await files.readFile({ path: '<x>' })).length", "timeout": "10"})
		if isError || !strings.HasPrefix(text, `{"exit_code":0,"result":11,"duration_ms":`) || !strings.Contains(text, `"tools_called":[{"tool":"files__read_file","status":"ok","ms":`) {
			t.Errorf("%s: %v %s", version, isError, text)
		}
		text, isError = call(t, cs, "execute_code", map[string]any{"code": "throw new Error('no')"})
		if !isError || !strings.HasPrefix(text, `{"exit_code":1,"stderr":"Error: no`) || !strings.Contains(text, `"tools_called":[]`) {
			t.Errorf("%s: %v %s", version, isError, text)
		}
		if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"}); err == nil {
			t.Error("an unknown tool of the broker is no error")
		}
	}
}
