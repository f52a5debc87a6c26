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

// Each testdata/*.txtar holds tools.json, a list of tools, and then what is
// written for them. go test ./codegen -update rewrites them; read the diff.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := server(t, ar.Files[0].Data)
			var sigs, decls strings.Builder
			for _, tool := range s.Tools {
				sigs.WriteString(codegen.Signature(s, tool) + "\n")
				decls.WriteString(codegen.Declaration(s, tool) + "\n")
			}
			got := &txtar.Archive{Comment: ar.Comment, Files: append(ar.Files[:1:1],
				txtar.File{Name: "signatures", Data: []byte(sigs.String())},
				txtar.File{Name: "declarations", Data: []byte(decls.String())},
				txtar.File{Name: "module.ts", Data: []byte(codegen.RunModule(s).Source)},
			)}
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(ar)), string(txtar.Format(got))); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func server(t testing.TB, tools []byte) *discovery.Server {
	t.Helper()
	l := discovery.Listing{Server: "my-server"}
	if err := json.Unmarshal(tools, &l.Tools); err != nil {
		t.Fatal(err)
	}
	return discovery.NewCatalog([]discovery.Listing{l}).Servers()[0]
}

// Types come from strangers: whatever a schema holds, what is written parses
// as TypeScript, and the module runs nothing but its calls.
func FuzzSchema(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a*/b":{"type":"string","description":"*/ alert(1) /*"}}}`,
		`{"type":"object","properties":{"x":{"$ref":"#/properties/x"}}}`,
		`{"type":["string","null"],"enum":["a\nb","` + "\u2028" + `"]}`,
		`{"anyOf":[{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}}]}`,
		`{"properties":{"":{},"1a":true,"b":false}}`,
		`{"$ref":"#/a~1b"}`, `true`, `[]`, `{"type":5}`, `{"items":[{"const":1e400}],"prefixItems":[]}`,
	} {
		f.Add("list_things", seed)
	}
	f.Fuzz(func(t *testing.T, name, schema string) {
		s := discovery.NewCatalog([]discovery.Listing{{Server: name, Tools: []discovery.ListedTool{
			{Name: name, Description: schema, InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(schema)},
		}}}).Servers()[0]
		codegen.Signature(s, s.Tools[0])
		decl := codegen.Declaration(s, s.Tools[0])
		if strings.ContainsAny(decl, "\n\r\u2028") {
			t.Errorf("declaration of %q has more than one line: %q", schema, decl)
		}
		comment, decl := cutComment(decl)
		if comment != "" && !strings.HasPrefix(decl, s.Namespace+".") {
			t.Errorf("the comment is left early: %q, then %q", comment, decl)
		}
		decl = strings.ReplaceAll(decl, " | …", "")
		decl = "declare function " + strings.Replace(decl, s.Namespace+".", "", 1) + ";"
		module := codegen.RunModule(s).Source
		for _, src := range []string{decl, module} {
			if r := api.Transform(src, api.TransformOptions{Loader: api.LoaderTS}); len(r.Errors) > 0 {
				t.Errorf("schema %q gives what does not parse: %s\n%s", schema, r.Errors[0].Text, src)
			}
		}
	})
}

// cutComment takes the comment off the front of a declaration: it ends at the
// first end of a comment, whatever stands in it.
func cutComment(decl string) (comment, rest string) {
	if !strings.HasPrefix(decl, "/**") {
		return "", decl
	}
	i := strings.Index(decl, "*/") + len("*/")
	return decl[:i], strings.TrimSpace(decl[i:])
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
