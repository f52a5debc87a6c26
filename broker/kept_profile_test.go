package broker_test

import (
	"fmt"
	"log/slog"
	"regexp"
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

// Values, results and runs of one profile are invisible to another, for clients of this
// user and for tokens.
func TestWhatIsKeptIsOfItsProfile(t *testing.T) {
	kept := files.Open(t.TempDir(), nil)
	runs := sqlite.NewRuns(t.TempDir(), slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = runs.Close() })
	b := newBroker(t, broker.Deps{Results: kept, Values: kept, Runs: runs, Runner: inproc.New()}, broker.Settings{Profiles: map[string]policy.Profile{
		"wide": {Name: "wide", Servers: []string{"files", "notes"}, Allow: all}, "narrow": {Name: "narrow", Servers: []string{"notes"}, Allow: all},
	}})
	b.Refresh(t.Context())
	profiles := []string{"", "wide", "narrow"}
	for _, owner := range []string{state.Local, "ann"} {
		run := func(profile string, req broker.ExecuteRequest) broker.ExecuteAnswer {
			view := b
			if profile != "" {
				view = b.View(profile)
			}
			req.Owner = owner
			return view.Execute(t.Context(), req)
		}
		for _, of := range profiles {
			a := run(of, broker.ExecuteRequest{Code: fmt.Sprintf(`await store.set('k', %q); return 'x'.repeat(20000)`, "of "+of)})
			if a.Ref == "" {
				t.Fatalf("nothing is kept: %+v", a)
			}
			call := `await notes.createNote({title: 't'})`
			if of != "narrow" {
				call += `; await files.readFile({path: 'secret'})`
			}
			broken := run(of, broker.ExecuteRequest{Code: call + `; throw new Error('broken off')`})
			id := runIn(broken)
			if id == "" {
				t.Fatalf("no run: %+v", broken)
			}
			for _, by := range profiles {
				name := fmt.Sprintf("owner %q, kept by %q, asked for by %q", owner, of, by)
				got := run(by, broker.ExecuteRequest{Code: fmt.Sprintf(`return [await store.get('k') ?? '', await results.get('%s').then(s => s.length, () => 0)]`, a.Ref)})
				if same, has := of == by, string(got.Result) == fmt.Sprintf(`["of %s",20000]`, of); same != has {
					t.Errorf("%s: %s %s", name, got.Result, got.Stderr)
				}
				if of == by {
					continue
				}
				got = run(by, broker.ExecuteRequest{Resume: id, Code: `return (await callMCPTool('files__read_file', {path: 'secret'}))`})
				if !strings.Contains(got.Stderr, "unknown run") {
					t.Errorf("%s: the run goes on: %s %s", name, got.Result, got.Stderr)
				}
			}
			// The client itself can read them, also after attempts by others, and so
			// can the user.
			if got := run(of, broker.ExecuteRequest{Resume: id, Code: `await notes.createNote({title: 't'}); return 'went on'`}); string(got.Result) != `"went on"` {
				t.Errorf("the run of %q does not go on: %s %s", of, got.Result, got.Stderr)
			}
			again := run(of, broker.ExecuteRequest{Code: call + `; throw new Error('broken off')`})
			got := run("", broker.ExecuteRequest{Resume: runIn(again), Profile: of, Code: `const r = [await store.get('k'), await callMCPTool('files__read_file', {path: 'secret'}).then(() => 'read', e => e.code)]; throw new Error(r.join())`})
			if want := fmt.Sprintf("of %s,%s", of, map[bool]string{true: "unknown_tool", false: "read"}[of == "narrow"]); !strings.Contains(got.Stderr, want) {
				t.Errorf("a person resumes the run of %q, which says %s, want %s", of, got.Stderr, want)
			}
			cs := connectView(t, b, of)
			for _, by := range profiles {
				if by == of || owner != state.Local {
					continue
				}
				if _, err := connectView(t, b, by).ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "broker://results/" + a.Ref}); err == nil {
					t.Errorf("a result of %q is a resource of %q", of, by)
				}
			}
			if owner != state.Local {
				continue
			}
			if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "broker://results/" + a.Ref}); err != nil {
				t.Errorf("a result of %q is no resource of its own: %v", of, err)
			}
		}
	}
}

// runIn returns the id of the run that an answer offers to resume.
func runIn(a broker.ExecuteAnswer) string {
	return regexp.MustCompile(`r_[a-z2-7]{26}`).FindString(a.Hint)
}

// connectView returns a client of a profile of b.
func connectView(t *testing.T, b *broker.Broker, profile string) *mcp.ClientSession {
	t.Helper()
	if profile == "" {
		return connect(t, b, "2025-11-25", nil)
	}
	return connect(t, b.View(profile), "2025-11-25", nil)
}
