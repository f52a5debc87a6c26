package broker_test

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker"
	saved "github.com/mcpbroker/mcpbroker/broker/script"
)

// Saved scripts are found, and called within the execution that names them.
func TestSavedScripts(t *testing.T) {
	store := saved.Store{Dir: t.TempDir()}
	for name, code := range map[string]string{
		"reads":    "export async function main(input: { path: string }) {\n  return (await files.readFile({ path: input.path }));\n}",
		"plain":    "import { readFile } from './servers/files';\nconst text = await readFile({ path: 'a' });\nreturn [text];",
		"byId":     "export const main = async (input: { id: string }) => callMCPTool(input.id, { path: 'a' });",
		"throwing": "\n\nexport async function main() {\n  throw new Error('on purpose');\n}",
	} {
		if _, err := store.Save(saved.Script{Name: name, Description: "Frobnicate the " + name + ".", Code: code}); err != nil {
			t.Fatal(err)
		}
	}
	b := newBroker(t, broker.Deps{SavedScripts: store.Dir}, broker.Settings{})
	b.Refresh(t.Context())
	found, err := b.Search(t.Context(), broker.SearchRequest{Query: "frobnicate reads"})
	if err != nil || len(found.Tools) == 0 || found.Tools[0].Kind != "script" || found.Tools[0].Signature != "scripts.reads(input: { path: string })" {
		t.Fatalf("Search = %+v, %v", found, err)
	}
	direct := b.Execute(t.Context(), broker.ExecuteRequest{Code: "return await callMCPTool('files__read_file', { path: 'a' })"})
	want := string(direct.Result)
	for _, tt := range []struct{ code, result, says string }{
		{"return await scripts.reads({ path: 'a' })", want, ""},
		{"const { reads } = scripts; return await reads({ path: 'a' })", want, ""},
		{"import { main } from './scripts/reads';\nreturn await main({ path: 'a' })", want, ""},
		{"import { main } from './scripts/reads@1';\nreturn await main({ path: 'a' })", want, ""},
		{"return await scripts.plain()", "[" + want + "]", ""},
		{"return await scripts.byId({ id: 'files__read_file' })", want, ""},
		{"const all = await Promise.all([scripts.reads({ path: 'a' }), scripts.plain()]); return all.length", "2", ""},
		{"return await scripts.throwing()", "", "on purpose"},
		{"return await scripts.raeds({ path: 'a' })", "", "reads"},
		{"import { main } from './scripts/nope';\nreturn main()", "", "scripts/"},
	} {
		ans := b.Execute(t.Context(), broker.ExecuteRequest{Code: tt.code})
		if string(ans.Result) != tt.result || !strings.Contains(ans.Stderr, tt.says) || (tt.says == "") != (ans.ExitCode == 0) {
			t.Errorf("%s: code %d, result %s, %s; want %s, %s", tt.code, ans.ExitCode, ans.Result, ans.Stderr, tt.result, tt.says)
		}
		if tt.says == "" && len(ans.ToolsCalled) == 0 {
			t.Errorf("%s: no call was counted", tt.code)
		}
	}
	// A read-only broker lets a saved script do no more than its caller.
	if _, err := store.Save(saved.Script{Name: "removes", Code: "return await callMCPTool('files__delete_file', { path: 'a' })"}); err != nil {
		t.Fatal(err)
	}
	safe := newBroker(t, broker.Deps{SavedScripts: store.Dir}, broker.Settings{ReadOnly: true})
	safe.Refresh(t.Context())
	if ans := safe.Execute(t.Context(), broker.ExecuteRequest{Code: "return await scripts.removes()"}); ans.ExitCode == 0 || !strings.Contains(ans.Stderr, "read-only") {
		t.Errorf("read-only: code %d, %s", ans.ExitCode, ans.Stderr)
	}
	// What is saved while it runs is found.
	if _, err := store.Save(saved.Script{Name: "later", Description: "Zygote.", Code: "return 1"}); err != nil {
		t.Fatal(err)
	}
	b.RefreshSkills()
	if found, err = b.Search(t.Context(), broker.SearchRequest{Query: "zygote"}); err != nil || len(found.Tools) != 1 {
		t.Errorf("Search = %+v, %v", found, err)
	}
}
