package broker_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// The restrictions of a project also apply to stored data: values, results and runs
// belong to the same named and unnamed profiles, and a run that its user resumes has
// these profiles.
func TestWhatIsKeptIsOfItsProject(t *testing.T) {
	dir := t.TempDir()
	kept := files.Open(filepath.Join(dir, "kept"), nil)
	runs := sqlite.NewRuns(dir, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = runs.Close() })
	b := newBroker(t, broker.Deps{Results: kept, Values: kept, Runs: runs, Runner: inproc.New()}, broker.Settings{Profiles: map[string]policy.Profile{
		"wide": {Name: "wide", Servers: all, Allow: all}}})
	b.Refresh(t.Context())
	none := policy.Profile{Servers: []string{"*", "more"}, Allow: all} // of a file that excludes nothing
	views := map[string]struct {
		*broker.Broker
		reads bool
	}{
		"no project":                 {b, true},
		"only notes":                 {b.View("", policy.Profile{Servers: []string{"notes"}, Allow: all}), false},
		"without a tool":             {b.View("", policy.Profile{Servers: all, Allow: all, Deny: []string{"files.read_<&>", "files__read_file"}}), false},
		"read-only":                  {b.View("", policy.Profile{Servers: all, Allow: all, ReadOnly: true}), true},
		"only files, with a profile": {b.View("wide").View("wide", policy.Profile{Servers: []string{"files"}, Allow: all}), true},
		"a profile":                  {b.View("wide", none), true},
	}
	run := func(b *broker.Broker, req broker.ExecuteRequest) broker.ExecuteAnswer {
		req.Owner = state.Local
		return b.Execute(t.Context(), req)
	}
	refs, ids := make(map[string]string), make(map[string]string)
	for of, v := range views {
		a := run(v.Broker, broker.ExecuteRequest{Code: fmt.Sprintf(`await store.set('k', %q); return 'x'.repeat(20000)`, of)})
		code := `await notes.createNote({title: 't'}); throw new Error('broken off')`
		if v.reads {
			code = `await files.readFile({path: 'p'}); throw new Error('broken off')`
		}
		broken := run(v.Broker, broker.ExecuteRequest{Code: code})
		list, err := runs.Runs(t.Context(), 1)
		if err != nil || len(list) != 1 || a.Ref == "" {
			t.Fatalf("%s: %q, %d runs, %v, %s", of, a.Ref, len(list), err, broken.Stderr)
		}
		refs[of], ids[of] = a.Ref, list[0].ID
	}
	for of, v := range views {
		for by, w := range views {
			got := run(w.Broker, broker.ExecuteRequest{Code: fmt.Sprintf(`return [await store.get('k') ?? '', await results.get('%s').then(s => s.length, () => 0)]`, refs[of])})
			if same, has := of == by, string(got.Result) == fmt.Sprintf(`[%q,20000]`, of); same != has {
				t.Errorf("kept by %q, asked for by %q: %s %s", of, by, got.Result, got.Stderr)
			}
			if of == by {
				continue
			}
			if got = run(w.Broker, broker.ExecuteRequest{Resume: ids[of], Code: `return 1`}); !strings.Contains(got.Stderr, "unknown run") {
				t.Errorf("the run of %q goes on for %q: %s %s", of, by, got.Result, got.Stderr)
			}
		}
		r, _, err := runs.Run(t.Context(), ids[of])
		if err != nil {
			t.Fatal(err)
		}
		code := `throw new Error(JSON.stringify([await store.get('k'), await callMCPTool('files__read_file', {path: 'secret'}).then(() => true, e => e.code !== 'unknown_tool')]))`
		for _, from := range []*broker.Broker{b, v.Broker} { // the user resumes it from any view
			got := run(from, broker.ExecuteRequest{Resume: ids[of], Profile: r.Profile, Narrowed: r.Narrowed, Code: code})
			if want := fmt.Sprintf(`Error: [%q,%v]`, of, v.reads); !strings.Contains(got.Stderr, want) {
				t.Errorf("the run of %q for its user: %s, want %s", of, got.Stderr, want)
			}
		}
	}
	if same := b.View("", none); string(run(same, broker.ExecuteRequest{Code: `return await store.get('k')`}).Result) != `"no project"` {
		t.Error("a project that leaves nothing out does not share the values of the user")
	}
	if got := run(b, broker.ExecuteRequest{Resume: ids["no project"], Narrowed: json.RawMessage(`"what is this"`)}); !strings.Contains(got.Stderr, "unknown run") {
		t.Errorf("profiles that cannot be read: %s %s", got.Result, got.Stderr)
	}
}

// Tokens that stand for values, and answers to requests with a key, belong to the
// profiles of a client too.
func TestTokensAndKeysAreOfTheirProfile(t *testing.T) {
	t.Parallel()
	b := hidingBroker(t, t.TempDir())
	views := map[string]*broker.Broker{
		"all": b, "named": b.View("crm"), "project": b.View("", policy.Profile{Servers: []string{"crm"}, Allow: all}), "both": b.View("crm", policy.Profile{Servers: all, Allow: all, Deny: []string{"mail.*"}}),
	}
	clients, tokens := make(map[string]*mcp.ClientSession), make(map[string]string)
	for of, v := range views {
		clients[of] = connect(t, v, versions[0], nil)
		text, _ := call(t, clients[of], "execute_code", map[string]any{"code": `return await callMCPTool('crm__get_contact', {text: ['kim', 'acme-mail.com'].join('@')})`})
		tokens[of] = tokenForm.FindString(text)
	}
	ask := func(by, code string) string {
		res, err := clients[by].CallTool(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{"mcpbroker/idempotencyKey": "a key"}, Name: "execute_code", Arguments: map[string]any{"code": code}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	for of := range views {
		for by := range views {
			text, _ := call(t, clients[by], "execute_code", map[string]any{"code": `return await callMCPTool('crm__get_contact', {text: '` + tokens[of] + `'}).then(r => r.includes('kim'), e => e.code)`})
			if same, has := of == by, strings.Contains(text, `"result":true`); same != has {
				t.Errorf("a token of %q for %q: %s", of, by, text)
			}
		}
		const code = `await store.set('n', (await store.get('n') ?? 0) + 1); return ['times', await store.get('n')].join()`
		for range 2 {
			if text := ask(of, code); !strings.Contains(text, "times,1") {
				t.Errorf("a request with a key of another profile, %q: %s", of, text)
			}
		}
	}
}
