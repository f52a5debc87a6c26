package codegen_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each testdata/*.txtar holds tools.json, a list of tools of one server or with
// servers of their own, perhaps learned.json, types of their results by id, and
// then what is written for them. go test ./codegen -update rewrites that; read
// the diff.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			want, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := txtar.Format(golden(t, want))
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(want)), string(got)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

// golden is what is written for the tools of an archive.
func golden(t *testing.T, ar *txtar.Archive) *txtar.Archive {
	got := &txtar.Archive{Comment: ar.Comment}
	var tools []listed
	learned := make(map[string]codegen.Output)
	for _, f := range ar.Files {
		into := map[string]any{"tools.json": &tools, "learned.json": &learned}[f.Name]
		if into == nil {
			continue
		}
		if err := json.Unmarshal(f.Data, into); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		got.Files = append(got.Files, f)
	}
	g := &codegen.Generator{Output: func(t *discovery.Tool) *codegen.Output {
		if o, ok := learned[t.ID]; ok {
			return &o
		}
		return nil
	}}
	for i := range tools {
		if tools[i].Server == "" {
			tools[i].Server = "my-server"
		}
	}
	c := discovery.NewCatalog(listingsOf(tools))
	var brief, modules strings.Builder
	for _, s := range c.Servers() {
		for _, tool := range s.Tools {
			brief.WriteString(g.Signature(s, tool) + "\n" + g.Declaration(s, tool) + "\n\n")
		}
		modules.WriteString(codegen.RunModule(s, nil).Source)
	}
	got.Files = append(got.Files,
		txtar.File{Name: "signatures and declarations", Data: []byte(brief.String())},
		txtar.File{Name: "what runs", Data: []byte(modules.String())})
	for f := range g.Files(c) {
		if strings.HasPrefix(f.Path, "servers/") || f.Path == codegen.ManifestPath {
			got.Files = append(got.Files, txtar.File{Name: f.Path, Data: f.Data})
		}
	}
	for _, f := range pythonFiles(g, c) {
		got.Files = append(got.Files, txtar.File{Name: f.Path, Data: f.Data})
	}
	return got
}

// hostile are schemas that mean harm, or nothing.
var hostile = []string{
	`{"type":"object","properties":{"a*/b":{"type":"string","description":"*/ alert(1) /*","pattern":"*/","default":"*/","format":"*/"}}}`,
	`{"type":"object","properties":{"x":{"$ref":"#/properties/x"},"y":{"$ref":"#/properties/z"},"z":{"$ref":"#/properties/y"}}}`,
	`{"type":["string","null"],"enum":["a\nb","` + "\u2028" + `"]}`,
	`{"anyOf":[{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}}]}`,
	`{"properties":{"":{},"1a":true,"b":false,"extends":{"type":"string"},"is":{},"new":{},"readonly":{}}}`,
	`{"$ref":"#/a~1b"}`, `true`, `[]`, `{"type":5}`, `{"items":[{"const":1e400}],"prefixItems":[]}`, `{"$ref":"#"}`,
	`{"anyOf":[{"$ref":"#"},{"type":"string"}],"allOf":[{"$ref":"#"},{"$ref":"#/anyOf/0"}]}`,
	`{"type":"object","patternProperties":{"^x-":{"type":"string"},"^` + "`" + `${":{},"^x-y":{"type":"number"}},"additionalProperties":false,"properties":{"x-a":{"type":"number"}}}`,
	`{"type":"object","additionalProperties":{"$ref":"#/additionalProperties"}}`,
	`{"$id":"https://a.example/b","$defs":{"c":{"$id":"c","$anchor":"d","type":"string"}},"properties":{"e":{"$ref":"c#d"},"f":{"$ref":"https://a.example/c"}}}`,
	`{"properties":{"a":{"enum":[{"b":[1,null,"*/"]},-0,1.50,true,false]}},"required":["a","a","zz",4]}`,
	`{"type":"array","items":[{"type":["string","number"]}],"minItems":99999999999,"additionalItems":{"type":["null","array"]}}`,
}

// Types come from strangers: whatever a schema holds, what is written parses
// as TypeScript, and the module runs nothing but its calls.
func FuzzSchema(f *testing.F) {
	for _, seed := range hostile {
		f.Add("list_things", seed)
	}
	f.Add("*/ ; evil('", `{"description":"*/"}`)
	f.Add("\x00\n\u2028../..", `{}`)
	f.Fuzz(func(t *testing.T, name, schema string) {
		c := discovery.NewCatalog([]discovery.Listing{{Server: name, Tools: []discovery.ListedTool{
			{Name: name, Description: schema, InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(schema)},
		}}})
		checkParses(t, new(codegen.Generator), c)
		checkParses(t, &codegen.Generator{Output: func(*discovery.Tool) *codegen.Output {
			return &codegen.Output{Schema: json.RawMessage(schema), Note: schema}
		}}, c)
	})
}

// checkParses checks that every text that is written for the tools of a
// catalogue parses, and that nothing but what is ours is left of it when the
// types are taken away.
func checkParses(t *testing.T, g *codegen.Generator, c *discovery.Catalog) {
	t.Helper()
	for _, s := range c.Servers() {
		for _, tool := range s.Tools {
			sig, decl := g.Signature(s, tool), g.Declaration(s, tool)
			if strings.ContainsAny(sig, "\n\r\u2028\u2029") {
				t.Errorf("signature has more than one line: %q", sig)
			}
			call := s.Namespace + "." + tool.Func
			for _, text := range []string{sig, decl} {
				code := transform(t, strings.Replace(text, call+"(", "declare function "+tool.Func+"(", 1))
				if code != "" {
					t.Errorf("a declaration runs %q:\n%s", code, text)
				}
			}
			want := transform(t, "import { callMCPTool } from '../../helpers/callMCPTool';\n"+
				"export function "+tool.Func+"(input) { return callMCPTool("+jsonText(tool.ID)+", input); }")
			if got := transform(t, g.Wrapper(tool)); got != want {
				t.Errorf("wrapper runs\n%s\nwant\n%s", got, want)
			}
		}
	}
	for f := range g.Files(c) {
		if strings.HasSuffix(f.Path, ".ts") {
			transform(t, string(f.Data))
		}
		if !filepath.IsLocal(f.Path) {
			t.Errorf("file %q is elsewhere", f.Path)
		}
	}
	for _, s := range c.Servers() {
		transform(t, codegen.RunModule(s, nil).Source)
	}
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// transform returns what is left of TypeScript without its types.
func transform(t *testing.T, src string) string {
	t.Helper()
	r := api.Transform(src, api.TransformOptions{
		Loader: api.LoaderTS, MinifyWhitespace: true, Charset: api.CharsetUTF8,
		TsconfigRaw: `{"compilerOptions":{"verbatimModuleSyntax":true}}`,
	})
	if len(r.Errors) > 0 {
		t.Errorf("does not parse: %s in line %v\n%s", r.Errors[0].Text, r.Errors[0].Location, src)
	}
	return string(r.Code)
}

func TestFirstSentence(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"Read a file. Then more.", 200, "Read a file."},
		{"Reads v1.2 files, e.g. txt. X", 200, "Reads v1.2 files, e.g. txt."},
		{"One\n  two", 200, "One two"},
		{"读取文件。然后", 200, "读取文件。"},
		{"", 200, ""},
		{"aaaa bbbb cccc dddd eeee", 18, "aaaa bbbb cccc…"},
		{"aaaaaaaaaaaaaaaa", 8, "aaaaaaa…"},
	} {
		if got := codegen.FirstSentence(c.in, c.limit); got != c.want {
			t.Errorf("FirstSentence(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func toolsOf(t testing.TB, raw []byte) []discovery.ListedTool {
	t.Helper()
	var tools []discovery.ListedTool
	if err := json.Unmarshal(raw, &tools); err != nil {
		t.Fatal(err)
	}
	return tools
}
