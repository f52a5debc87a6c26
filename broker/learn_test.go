package broker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// openRecord opens a new record, which is closed with the test.
func openRecord(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestTypesAreLearnedFromCalls(t *testing.T) {
	types := openRecord(t)
	store := learned.New(types, nil)
	b := newBroker(t, broker.Deps{Learned: store}, broker.Settings{SkipLearning: map[string]bool{"notes": true}})
	for _, code := range []string{
		`await files.listRows({ n: 1 })`, `await files.listRows({ n: 2 }); await notes.createNote({ title: 'a' })`,
		`await files.listRows({ n: 0 }); await files.readFile({ path: 'missing' }).catch(() => 0)`,
	} {
		if a := execute(t, b, code); a.ExitCode != 0 {
			t.Fatalf("%s: %s", code, a.Stderr)
		}
	}
	want := `{"type":"object","properties":{"zeta":{"type":"integer"},"alpha":{"type":"array","items":` +
		`{"type":"object","properties":{"id":{"type":"integer"},"title":{"type":"string"}},"required":["id","title"]}}},"required":["zeta","alpha"]}`
	if typ, ok := store.Type("files", "list_rows"); !ok || typ.Calls != 3 || string(typ.Schema) != want {
		t.Errorf("learned from %d calls\n got %s\nwant %s", typ.Calls, typ.Schema, want)
	}
	found, err := b.Search(t.Context(), broker.SearchRequest{Query: "list rows of a table", Limit: 1})
	if err != nil || len(found.Tools) != 1 {
		t.Fatalf("search: %+v, %v", found, err)
	}
	if want := "files.listRows(input: { n: number }): Promise<{ zeta: number; alpha: { id: number; title: string }[] }> // learned from 3 calls"; found.Tools[0].Declaration != want {
		t.Errorf("declaration\n got %s\nwant %s", found.Tools[0].Declaration, want)
	}
	found, err = b.Search(t.Context(), broker.SearchRequest{Query: "rows of a table, or a file"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "({n:number}): Promise<{zeta:number;alpha:{id:number;title}[]}> // learned from 3 calls"; found.Tools[0].Signature != want {
		t.Errorf("signature\n got %s\nwant %s", found.Tools[0].Signature, want)
	}
	list, err := store.List()
	if err != nil || len(list) != 1 {
		t.Errorf("learned %+v, %v; want list_rows alone: notes declares its output and is excepted, a failure teaches nothing", list, err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	again := learned.New(types, nil)
	defer again.Close()
	if typ, ok := again.Type("files", "list_rows"); !ok || string(typ.Schema) != want {
		t.Errorf("after a restart: %s", typ.Schema)
	}
}

func TestDriftIsTold(t *testing.T) {
	log := openRecord(t)
	store := learned.New(log, nil)
	t.Cleanup(func() { store.Close() })
	b := newBroker(t, broker.Deps{Learned: store, Audit: log}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "shifty")}})
	quiet := execute(t, b, `for (let i = 0; i < 4; i++) await shifty.getThing({ n: i }); return 1`)
	if quiet.Stderr != "" {
		t.Errorf("stderr %q while the results are alike", quiet.Stderr)
	}
	a := execute(t, b, `return [await shifty.getThing({ n: 100 }), await shifty.getThing({ n: 101 })]`)
	for _, want := range []string{
		"shifty__get_thing: id was always a number and is a string now",
		"shifty__get_thing: title was there in all 4 calls before and is missing now",
	} {
		if strings.Count(a.Stderr, want) != 1 {
			t.Errorf("stderr lacks %q or has it twice:\n%s", want, a.Stderr)
		}
	}
	if a.ExitCode != 0 {
		t.Errorf("exit code %d, want 0", a.ExitCode)
	}
	eventually(t, "drift in the audit record", func() bool {
		events, err := log.Events(t.Context(), time.Time{}, 10)
		return err == nil && len(events) == 2 && events[0].Kind == state.EventDrift && events[0].Server == "shifty"
	})
}

// What was learned names the field that was meant.
func TestMisspeltFieldsAreNamed(t *testing.T) {
	store := learned.New(openRecord(t), nil)
	t.Cleanup(func() { store.Close() })
	b := newBroker(t, broker.Deps{Learned: store}, broker.Settings{})
	const misspelt = "const r = await files.listRows({ n: 3 });\nreturn (r.alpa ?? []).length"
	if a := execute(t, b, misspelt); a.Hint != "" || a.Stderr != "" {
		t.Errorf("before anything was learned: hint %q, stderr %q", a.Hint, a.Stderr)
	}
	execute(t, b, `for (let n = 0; n < 3; n++) await files.listRows({ n })`)
	a := execute(t, b, misspelt)
	if want := "line 2: alpa is undefined; did you mean alpha?"; a.ExitCode != 0 || a.Hint != want || a.Stderr != want {
		t.Errorf("exit %d, hint %q, stderr %q, want %q in both", a.ExitCode, a.Hint, a.Stderr, want)
	}
	whole := b.Execute(t.Context(), broker.ExecuteRequest{Code: misspelt, Uncut: true})
	if whole.Diagnostics != a.Stderr || whole.Hint != "" {
		t.Errorf("who is shown all reads %q and again %q", whole.Diagnostics, whole.Hint)
	}
	deep := execute(t, b, "const { alpha } = await callMCPTool('files__list_rows', { n: 2 });\nreturn alpha.map(row => row.titel)")
	if want := "line 2: titel is undefined; did you mean title?"; deep.Hint != want {
		t.Errorf("hint %q, want %q", deep.Hint, want)
	}
	off := newBroker(t, broker.Deps{Learned: store}, broker.Settings{DisableReadHints: true})
	if a := execute(t, off, misspelt); a.Hint != "" {
		t.Errorf("hint %q although reads are not noted", a.Hint)
	}
}
