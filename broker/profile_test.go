package broker_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/policy"
)

var all = []string{"*"}

// profiled is a broker with three servers, one of which has skills, and profiles.
func profiled(t *testing.T, d broker.Deps, s broker.Settings) *broker.Broker {
	t.Helper()
	docs, _ := skillUpstream(t, "docs", newServerSkills(), false)
	s.Servers = []upstream.Config{upstreamConfig(t, "files"), upstreamConfig(t, "library"), docs}
	dir := filepath.Join(t.TempDir(), "skills")
	writeSkill(t, dir, "local", "Is the user's own.", "Local text.", nil)
	s.Skills = skillRegistry(dir)
	s.Profiles = map[string]policy.Profile{
		"work":  {Name: "work", Servers: []string{"fi*"}, Allow: all, Deny: []string{"delete_*", "files__wait"}},
		"read":  {Name: "read", Servers: all, Allow: all, ReadOnly: true},
		"empty": {Name: "empty", Servers: all},
	}
	b := newBroker(t, d, s)
	b.Refresh(t.Context())
	ready(t, connect(t, b, "2025-11-25", nil), 2)
	return b
}

// dial connects a client of an address, with a token if it is not empty.
func dial(t *testing.T, url, token, version string) (*mcp.ClientSession, error) {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		t.Cleanup(func() { _ = cs.Close() })
	}
	return cs, err
}

// everything returns all answers of a client about a name: by search, calls, imports,
// descriptions, resources, prompts and skills.
func everything(t *testing.T, cs *mcp.ClientSession, name string) string {
	t.Helper()
	var b strings.Builder
	add := func(v any) { b.Write(gate.Compact(v)); b.WriteByte('\n') }
	tools, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	add(tools.Tools)
	add(cs.InitializeResult().Instructions)
	prompts, err := cs.ListPrompts(t.Context(), nil)
	add(prompts)
	add(err)
	resources, err := cs.ListResources(t.Context(), nil)
	add(resources)
	add(err)
	for _, uri := range []string{"broker://code/servers/" + name + "/index.ts", "broker://code/servers/" + name + "/lend.ts", "skill://server/" + name + "/refunds/SKILL.md"} {
		read, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		add(read)
		if err != nil {
			add(err.Error())
		}
	}
	ask := func(tool string, args map[string]any) {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			add(err.Error())
			return
		}
		for _, c := range res.Content {
			add(c.(*mcp.TextContent).Text)
		}
	}
	ask("list_servers", nil)
	ask("list_servers", map[string]any{"server": name})
	for _, q := range []string{"lend a book", "handle refunds", "inventory volumes", name, name + "__lend", ""} {
		ask("search_tools", map[string]any{"query": q})
		ask("search_tools", map[string]any{"query": q, "server": name, "detail": "full"})
	}
	for _, code := range []string{
		"return callMCPTool('" + name + "__lend', {})", "return callMCPTool('" + name + ".lend', {})", "return callMCPTool('" + name + "__read_resource', {uri: 'library://rules'})",
		"return tools.describe('" + name + "__lend')", "return tools.search('lend a book')", "return " + name + ".lend({})",
		"import { lend } from './servers/" + name + "'; return lend({})", "return skills.read('" + name + ":refunds')",
	} {
		ask("execute_code", map[string]any{"code": code})
	}
	ask("call_tool", map[string]any{"tool": name + "__lend"})
	ask("activate_skill", map[string]any{"name": name + ":refunds", "force": true})
	ask("activate_skill", map[string]any{"name": name + ":skill://acme/refunds/SKILL.md", "force": true})
	return b.String()
}

// What is outside of a profile is answered as what does not exist, byte for byte.
func TestOutsideOfAProfile(t *testing.T) {
	t.Parallel()
	for _, mode := range []broker.Mode{broker.ModeCode, broker.ModeAuto, broker.ModeTools} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := profiled(t, broker.Deps{}, broker.Settings{Mode: mode})
			url := serveHTTP(t, b, nil).URL
			for _, version := range []string{"2025-11-25", "2026-07-28"} {
				cs, err := dial(t, url+"/mcp/work", "", version)
				if err != nil {
					t.Fatal(err)
				}
				for _, hidden := range []string{"library", "docs"} {
					typo := hidden[:1] + "q" + hidden[2:] // as near to what there is
					got, want := everything(t, cs, hidden), strings.ReplaceAll(everything(t, cs, typo), typo, hidden)
					if got, want := untimed(got), untimed(want); got != want {
						t.Errorf("%s: %s differs from what does not exist:\n%s", version, hidden, firstDifference(got, want))
					}
				}
				expect(t, cs, "search_tools", map[string]any{"query": "delete file"}, false, "!delete_file")
				expect(t, cs, "list_servers", nil, false, `"files"`, `"total_tools":2`, "!library", "!docs")
			}
			cs, err := dial(t, url+"/mcp", "", "2025-11-25")
			if err != nil {
				t.Fatal(err)
			}
			expect(t, cs, "list_servers", nil, false, "library", "docs")
		})
	}
}

// untimed leaves out what differs from one call to the next.
func untimed(text string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(text, `duration_ms\":`)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		text = strings.TrimLeft(after, "0123456789")
		if before, after, ok := strings.Cut(text, `\"ms\":`); ok && !strings.Contains(before, "\n") {
			text = before + strings.TrimLeft(after, "0123456789")
		}
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[min(i, len(w)-1)]
		}
	}
	return "more lines are wanted"
}

func TestProfilesAndTokens(t *testing.T) {
	b := profiled(t, broker.Deps{}, broker.Settings{})
	h, err := b.Handler(broker.HTTPOptions{
		Addr: "127.0.0.1:0", Tokens: map[string]string{"ann": "secret-a", "ci": "secret-c", "old": "secret-o", "lost": "secret-l"}, Default: "read",
		Limits: map[string]broker.TokenLimits{
			"ci": {Profile: "work", Expires: time.Now().Add(time.Hour)}, "old": {Expires: time.Now().Add(-time.Hour)}, "lost": {Profile: "gone"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	url := srv.URL
	for _, c := range []struct {
		path, token, want string
		status            int
	}{
		{"/mcp", "secret-a", "", 200},
		{"/mcp/work", "secret-a", "", 200},
		{"/mcp/read", "secret-a", "", 200},
		{"/mcp/gone", "secret-a", "the MCP endpoint is /mcp\n", 404},
		{"/elsewhere", "secret-a", "the MCP endpoint is /mcp\n", 404},
		{"/mcp/gone", "nobody's", "invalid token\n", 401},
		{"/mcp/work", "nobody's", "invalid token\n", 401},
		{"/mcp", "secret-c", "", 200},
		{"/mcp/work", "secret-c", "", 200},
		{"/mcp/read", "secret-c", "the MCP endpoint is /mcp\n", 404},
		{"/mcp/gone", "secret-c", "the MCP endpoint is /mcp\n", 404},
		{"/mcp", "secret-l", "the profile that you have here is not in the config any more\n", 403},
		{"/mcp/gone", "secret-l", "the MCP endpoint is /mcp\n", 404},
		{"/mcp/work", "secret-l", "the MCP endpoint is /mcp\n", 404},
		{"/mcp", "secret-o", "this token expired on ", 401},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+c.path, strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := bearer(c.token).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body) // what is wrong with it shows in the text
		_ = res.Body.Close()
		status, answer := res.StatusCode, string(text)
		if status != c.status || !strings.HasPrefix(answer, c.want) || c.status == 404 && answer != c.want {
			t.Errorf("%s with %s: %d %q, want %d %q", c.path, c.token, status, answer, c.status, c.want)
		}
	}
	for token, want := range map[string][]string{
		"secret-c": {`"files"`, "!library", `"total_tools":2`}, // what its profile has, and
		"secret-a": {`"files"`, "library", `"total_tools":3`},  // that of the config
	} {
		cs, err := dial(t, url+"/mcp", token, "2025-11-25")
		if err != nil {
			t.Fatal(err)
		}
		expect(t, cs, "list_servers", nil, false, want...)
	}
}

// Whatever becomes of a profile, clients that have it get no more than it had.
func TestProfileThatChanges(t *testing.T) {
	o := options{}
	b := profiled(t, o.Deps, o.Settings)
	v := b.View("work")
	cs := connect(t, v, "2025-11-25", nil)
	expect(t, cs, "list_servers", nil, false, `"total_tools":2`)
	url := serveHTTP(t, b, nil).URL
	over, err := dial(t, url+"/mcp/work", "", "2025-11-25")
	if err != nil {
		t.Fatal(err)
	}
	next := options{Settings: broker.Settings{
		Servers:  []upstream.Config{upstreamConfig(t, "files"), upstreamConfig(t, "library")},
		Skills:   b.Skills(),
		Profiles: map[string]policy.Profile{"work": {Name: "work", Servers: []string{"library"}, Allow: all}},
	}}
	b.Apply(next.Settings)
	expect(t, cs, "list_servers", nil, false, "library", `"total_tools":1`, "!files")
	expect(t, cs, "search_tools", map[string]any{"query": "read the text of a file"}, false, "!read_file")
	next.Profiles = nil
	b.Apply(next.Settings)
	expect(t, cs, "list_servers", nil, false, `"servers":[]`, `the profile \"work\" is not in the config`, "!library")
	expect(t, cs, "search_tools", map[string]any{"query": "lend"}, false, `"match_count":0`)
	if _, err := over.ListTools(t.Context(), nil); err == nil {
		t.Error("a client of a profile that was deleted is answered over HTTP")
	}
}

// Views of views have what all of them have.
func TestNarrowerViews(t *testing.T) {
	b := profiled(t, broker.Deps{}, broker.Settings{})
	both := b.View("work").View("read")
	if got := strings.Join(both.Catalog().SortedIDs(), " "); got != "files__list_rows files__read_file" {
		t.Errorf("work and read have %s", got)
	}
	if first, second := b.View("work"), b.View("work"); first != second || b.View("") != b {
		t.Error("a view is made twice")
	}
	if n := len(b.View("empty").Catalog().Tools()); n != 0 {
		t.Errorf("a profile that allows nothing has %d tools", n)
	}
	if got := b.View("work", policy.Profile{Servers: all, Allow: []string{"files.read_*"}}).Catalog().SortedIDs(); len(got) != 1 {
		t.Errorf("a profile narrowed to one tool has %v", got)
	}
	if p := b.Problems(); len(p) != 0 {
		t.Errorf("problems of right profiles: %v", p)
	}
}

func TestProfileProblems(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Profiles: map[string]policy.Profile{
		"odd": {Servers: []string{"file", "no*"}, Allow: []string{"files__read_fil", "list_*"}, Deny: []string{"resources/read"}},
	}})
	b.Refresh(t.Context())
	want := `profile "odd": no server is called "file"; did you mean "files"?` + "\n" +
		`profile "odd": no tool is called "files__read_fil"; did you mean "files__read_file"?`
	if got := strings.Join(b.Problems(), "\n"); got != want {
		t.Errorf("problems:\n%s\nwant:\n%s", got, want)
	}
}

// Patterns that look like numbered ids of older versions and match nothing cause a
// warning, in profiles and in the policy. Other patterns of a policy may be for future
// tools.
func TestProblemsOfNumberedIDs(t *testing.T) {
	rules, mistakes := policy.ReadRules(policy.Source{Text: []byte(`{"preset": "open",
		"rules": [{"effect": "deny", "tools": ["files_2__read_file", "files__read_file_2", "notes_12.*", "files__read_file", "to_come.*", "v_2x"]},
			{"effect": "ask", "tools": ["web"], "except": ["files_3/read_file"]}],
		"flows": [{"from": ["notes_2"], "to": ["files"], "effect": "deny"}]}`)})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	b := newBroker(t, broker.Deps{}, broker.Settings{
		Policy: rules,
		Profiles: map[string]policy.Profile{
			"old": {Servers: []string{"files_2", "notes"}, Allow: all, Deny: []string{"files_2__read_file", "read_file_2"}},
		},
	})
	b.Refresh(t.Context())
	got := strings.Join(b.Problems(), "\n")
	for _, pattern := range []string{"files_2__read_file", "files__read_file_2", "notes_12.*", "files_3/read_file", "notes_2"} {
		if !regexp.MustCompile(`(?m)^policy: .*` + regexp.QuoteMeta(pattern) + `"? matches no known tool, so it has no effect`).MatchString(got) {
			t.Errorf("no problem of the policy names %s:\n%s", pattern, got)
		}
	}
	for _, want := range []string{`profile "old": no server is called "files_2"; did you mean "files"?`, `profile "old": no tool is called "files_2__read_file"`, `profile "old": no tool is called "read_file_2"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no problem is %s:\n%s", want, got)
		}
	}
	if strings.Contains(got, "to_come") || strings.Contains(got, "v_2x") || strings.Count(got, "policy:") != 5 {
		t.Errorf("problems:\n%s", got)
	}
}

// An error about a tool or server outside a profile names the profile, by namespace,
// import and id alike. Without profiles, errors do not mention any.
func TestWhatAProfileLeavesOutSaysSo(t *testing.T) {
	b := profiled(t, broker.Deps{}, broker.Settings{})
	const note = `(only the servers and tools of profile "work" can be used here)`
	for _, code := range []string{
		"return await files.deleteFile({})", "import { deleteFile } from './servers/files'; return await deleteFile({})",
		"return await callMCPTool('files__delete_file', {})", "return await tools.describe('files.delete_file')",
		"return await library.lend({})", "import { lend } from './servers/library'; return await lend({})", "import * as l from './servers/library'; return l",
		"return await callMCPTool('library__lend', {})",
	} {
		a := b.View("work").Execute(t.Context(), broker.ExecuteRequest{Code: code})
		if a.ExitCode == 0 || !strings.Contains(a.Stderr+" ("+a.Hint+")", strings.Trim(note, "()")) {
			t.Errorf("%s: exit %d, %s, hint %s", code, a.ExitCode, a.Stderr, a.Hint)
		}
		if a := b.Execute(t.Context(), broker.ExecuteRequest{Code: strings.NewReplacer("elete", "elet", "lend", "lent").Replace(code)}); strings.Contains(a.Stderr+a.Hint, "profile") {
			t.Errorf("without one, %s: %s", code, a.Stderr)
		}
	}
	both := b.View("work").View("read").Execute(t.Context(), broker.ExecuteRequest{Code: "return await callMCPTool('library__lend', {})"})
	if !strings.Contains(both.Stderr, `(only servers and tools that are in all of the profiles "work", "read" can be used here)`) {
		t.Errorf("with two: %s", both.Stderr)
	}
}
