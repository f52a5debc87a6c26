package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonschema "github.com/mcpbroker/mcpbroker/internal/schema"
	"github.com/mcpbroker/mcpbroker/state/files"
)

func TestInputOf(t *testing.T) {
	for _, tt := range []struct{ name, code, typ, schema string }{
		{"none", "return 1", "", ""},
		{"nothing", "export async function main() {}", "", ""},
		{"object", "export async function main(input: {owner: string; limit?: number}) {}", "{owner: string; limit?: number}",
			`{"additionalProperties":false,"properties":{"limit":{"type":"number"},"owner":{"type":"string"}},"required":["owner"],"type":"object"}`},
		{"lines and comments", "export async function main(input: {\n  /** who has it */\n  owner: string, // yes\n  'a b'?: boolean\n}): Promise<void> {}", "{ owner: string, 'a b'?: boolean }",
			`{"additionalProperties":false,"properties":{"a b":{"type":"boolean"},"owner":{"description":"who has it","type":"string"}},"required":["owner"],"type":"object"}`},
		{"literals", "export const main = async (input: { state: 'OPEN' | \"CLOSED\"; n: 1 | -2.5; on: true }) => 1", "{ state: 'OPEN' | \"CLOSED\"; n: 1 | -2.5; on: true }",
			`{"additionalProperties":false,"properties":{"n":{"enum":[1,-2.5]},"on":{"const":true},"state":{"enum":["OPEN","CLOSED"]}},"required":["state","n","on"],"type":"object"}`},
		{"nested", "export function main({ a }: { a: { b: string[][] }[]; c: Array<number>; d: Record<string, boolean | null>; e: string | undefined }) {}",
			"{ a: { b: string[][] }[]; c: Array<number>; d: Record<string, boolean | null>; e: string | undefined }",
			`{"additionalProperties":false,"properties":{"a":{"items":{"additionalProperties":false,"properties":{"b":{"items":{"items":{"type":"string"},"type":"array"},"type":"array"}},"required":["b"],"type":"object"},"type":"array"},"c":{"items":{"type":"number"},"type":"array"},"d":{"additionalProperties":{"anyOf":[{"type":"boolean"},{"type":"null"}]},"type":"object"},"e":{"type":"string"}},"required":["a","c","d"],"type":"object"}`},
		{"alias", "type Input = { n: number };\nexport async function main(input: Input) {}", "{ n: number }", `{"additionalProperties":false,"properties":{"n":{"type":"number"}},"required":["n"],"type":"object"}`},
		{"interface", "interface In {\n  n: number;\n}\nexport async function main(input: In) {}", "{ n: number }", `{"additionalProperties":false,"properties":{"n":{"type":"number"}},"required":["n"],"type":"object"}`},
		{"more than that", "export async function main(input: Pick<X, 'a'> & { b: string }) {}", "any", `{}`},
		{"function", "export async function main(input: (a: number) => void) {}", "any", `{}`},
		{"endless", "type T = { t: T };\nexport async function main(input: T) {}", "any", `{}`},
		{"cut", "export async function main(input: { a: ", "any", `{}`},
		{"untyped", "export async function main(input) {}", "any", `{}`},
	} {
		in := inputOf(tt.code)
		if in == nil {
			if tt.typ != "" {
				t.Errorf("%s: no input", tt.name)
			}
			continue
		}
		if in.Type != tt.typ || string(in.Schema) != tt.schema {
			t.Errorf("%s:\ngot  %s  %s\nwant %s  %s", tt.name, in.Type, in.Schema, tt.typ, tt.schema)
		}
	}
}

func FuzzInputOf(f *testing.F) {
	for _, s := range []string{"input: {a: 1}", "{a}: {a?: 'x' | \"y\"}", "x: [", "x: Record<string, Array<{}>>", "x: 'a\\'", "/* x", "x: -", "x?: T = {"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, params string) {
		in := inputOf("type T = {a: T | 1}\nexport async function main(" + params + ") {}")
		if in == nil {
			return
		}
		if !json.Valid(in.Schema) || len(in.Type) > maxShown {
			t.Fatalf("%q: %+v", params, in)
		}
		if _, err := jsonschema.Compile(in.Schema); err != nil {
			t.Fatalf("%q: schema %s: %v", params, in.Schema, err)
		}
	})
}

func TestStoreKeepsVersions(t *testing.T) {
	t.Run("folder", func(t *testing.T) { keepsVersions(t, Store{Dir: filepath.Join(t.TempDir(), "scripts")}) })
	t.Run("shared", func(t *testing.T) {
		dir := t.TempDir()
		st := Store{Dir: dir, Shared: NewShared(files.OpenDocuments(t.TempDir()))}
		keepsVersions(t, st)
		if left, err := st.Shared.docs.ListDocuments(t.Context(), ""); err != nil || len(left) > 0 {
			t.Errorf("%v are left, %v", left, err)
		}
	})
}

// What a machine has in its folder is there beside what brokers share, until somebody
// saves another version of it.
func TestSharedScriptsAndThoseOfAFolder(t *testing.T) {
	folder := Store{Dir: t.TempDir()}
	docs := files.OpenDocuments(t.TempDir())
	one, two := Store{Dir: folder.Dir, Shared: NewShared(docs)}, Store{Shared: NewShared(docs)}
	save := func(st Store, name, code string) {
		t.Helper()
		if _, err := st.Save(Script{Name: name, Code: code}); err != nil {
			t.Fatal(err)
		}
	}
	save(folder, "here", "return 1")
	save(one, "there", "return 1")
	for _, tt := range []struct {
		st    Store
		names string
	}{{folder, "here1"}, {one, "here1 there1"}, {two, "there1"}} {
		list, err := tt.st.List()
		var names []string
		for _, s := range list {
			names = append(names, fmt.Sprint(s.Name, s.Version))
		}
		if got := strings.Join(names, " "); got != tt.names || err != nil {
			t.Errorf("List of %v = %s, %v; want %s", tt.st, got, err, tt.names)
		}
	}
	if err := one.Remove("here"); err == nil || !strings.Contains(err.Error(), folder.Dir) {
		t.Errorf("Remove = %v", err)
	}
	save(one, "here", "return 2")
	for ref, want := range map[string]string{"here": "return 2", "here@1": "return 1"} {
		if s, err := two.Load(ref); err != nil || !strings.Contains(s.Code, want) {
			t.Errorf("Load(%s) = %+v, %v", ref, s, err)
		}
	}
	save(two, "there", "return 3")
	if s, err := one.Load("there"); err != nil || s.Version != 2 {
		t.Errorf("%+v, %v; want what another broker saved", s, err)
	}
}

func keepsVersions(t *testing.T, st Store) {
	if list, err := st.List(); err != nil || len(list) > 0 {
		t.Fatalf("an empty store: %v, %v", list, err)
	}
	first, err := st.Save(Script{Name: "triage", Description: "Close */ what is stale.", Profile: "work", Execution: "e_1", Code: "return 1"})
	if err != nil || first.Version != 1 {
		t.Fatalf("Save = %+v, %v", first, err)
	}
	// What was saved is saved again, edited: the comment goes along.
	second, err := st.Save(Script{Name: "triage", Code: strings.Replace(first.Code, "return 1", "export async function main(input: { n: number }) {\n  return 2;\n}", 1)})
	if err != nil || second.Version != 2 || second.Description != "Close * / what is stale." || second.Profile != "work" || second.Execution != "" {
		t.Fatalf("Save = %+v, %v", second, err)
	}
	if n := strings.Count(second.Code, "/**"); n != 1 || second.Signature() != "scripts.triage(input: { n: number })" {
		t.Errorf("%d comments, signature %s in\n%s", n, second.Signature(), second.Code)
	}
	for ref, want := range map[string]string{"triage": "return 2", "triage@2": "return 2", "triage@1": "return 1"} {
		if s, err := st.Load(ref); err != nil || !strings.Contains(s.Code, want) {
			t.Errorf("Load(%s) = %+v, %v", ref, s, err)
		}
	}
	for ref, near := range map[string]string{"triage@3": "triage@2", "triagee": "triage", "../triage": "", "triage@x": "triage@2"} {
		_, err := st.Load(ref)
		if e, ok := errors.AsType[*NotFoundError](err); !ok || near != "" && (len(e.Near) == 0 || e.Near[0] != near) {
			t.Errorf("Load(%s) = %v, want near %s", ref, err, near)
		}
	}
	// Files of others are none of ours, and stay.
	other := filepath.Join(st.Dir, "build.ts")
	if err := os.WriteFile(other, []byte("console.log(1)"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Save(Script{Name: "build", Code: "return 1"}); err == nil {
		t.Error("a file of somebody else was replaced")
	}
	if list, err := st.List(); err != nil || len(list) != 1 || list[0].Version != 2 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if err := st.Remove("triage"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Load("triage@1"); err == nil {
		t.Error("a version is left")
	}
	for _, name := range []string{"", "a-b", "1a", "then", "a/b", "class", strings.Repeat("a", 65)} {
		if _, err := st.Save(Script{Name: name, Code: "return 1"}); err == nil {
			t.Errorf("Save takes the name %q", name)
		}
	}
}

func TestModule(t *testing.T) {
	for _, tt := range []struct{ code, want string }{
		{"export async function main() { return await callMCPTool('a') }", "import { callMCPTool } from './helpers/callMCPTool'; export async function main() { return await callMCPTool('a') }"},
		{"import { x } from './servers/files';\n// more\nimport './servers/notes'\nreturn x()", "import { x } from './servers/files';\n// more\nimport './servers/notes'\nexport async function main() {return x()\n}\n"},
		{"const callMCPTool = 1;\nreturn callMCPTool", "export async function main() {const callMCPTool = 1;\nreturn callMCPTool\n}\n"},
	} {
		if got := module(tt.code, nil); got != tt.want {
			t.Errorf("module(%q)\ngot  %q\nwant %q", tt.code, got, tt.want)
		}
	}
}
