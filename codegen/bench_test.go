package codegen_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/catalogues"
	"github.com/mcpbroker/mcpbroker/internal/tokens"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/jsrun"
)

// realListings are the tools of the recorded servers.
func realListings(t testing.TB) []discovery.Listing {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(catalogues.Recorded("catalog"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("a measurement: BROKER_RECORDED names no folder with recorded catalogues")
	}
	var all []discovery.Listing
	for _, file := range files {
		if filepath.Base(file) != "servers.json" {
			all = append(all, listingsOf(readListed(t, file))...)
		}
	}
	return all
}

// BenchmarkFiles writes everything for n tools: the 857 real ones, and so many
// of them a second time as make 1,218.
func BenchmarkFiles(b *testing.B) {
	listings := realListings(b)
	tools := 0
	for _, l := range listings {
		tools += len(l.Tools)
	}
	for _, l := range listings {
		if n := min(1218-tools, len(l.Tools)); n > 0 && l.Server != "ms365" {
			tools += n
			listings = append(listings, discovery.Listing{Server: l.Server + "2", Tools: l.Tools[:n]})
		}
	}
	for _, l := range listings {
		if n := min(1218-tools, len(l.Tools)); n > 0 {
			tools += n
			listings = append(listings, discovery.Listing{Server: l.Server + "3", Tools: l.Tools[:n]})
		}
	}
	c := discovery.NewCatalog(listings)
	g := new(codegen.Generator)
	b.ReportAllocs()
	bytes := 0
	for b.Loop() {
		bytes = 0
		for f := range g.Files(c) {
			bytes += len(f.Data)
		}
	}
	b.ReportMetric(float64(len(c.Tools())), "tools")
	b.ReportMetric(float64(bytes), "bytes")
}

// BenchmarkTool writes the three texts of a tool: of a usual one, and of the
// largest there is.
func BenchmarkTool(b *testing.B) {
	c := discovery.NewCatalog(realListings(b))
	for _, id := range []string{"github__create_issue", "ms365__create-sharepoint-list"} {
		t, ok := c.Tool(id)
		if !ok {
			b.Fatalf("no tool %s", id)
		}
		s, _ := c.Server(t.Server)
		g := new(codegen.Generator)
		for name, text := range map[string]func() string{
			"file":        func() string { return g.Wrapper(t) },
			"declaration": func() string { return g.Declaration(s, t) },
			"signature":   func() string { return g.Signature(s, t) },
			"line":        func() string { return g.Line(s, t).Input },
		} {
			b.Run(id+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					text()
				}
			})
		}
	}
}

// A declaration costs at most half of the tokens of what a client would put
// into the model's context otherwise.
func TestDeclarationsAreHalfOfTheirSchemas(t *testing.T) {
	var all []discovery.Listing
	for _, file := range catalogues.All() {
		path := filepath.Join(t.TempDir(), file.Name+".json")
		if err := os.WriteFile(path, file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, listingsOf(readListed(t, path))...)
	}
	c := discovery.NewCatalog(all)
	g := new(codegen.Generator)
	var whole, declared, signed, longest int
	for _, s := range c.Servers() {
		for _, tool := range s.Tools {
			raw, err := json.Marshal(map[string]any{"name": tool.Name, "description": tool.Description,
				"inputSchema": tool.InputSchema, "outputSchema": tool.OutputSchema})
			if err != nil {
				t.Fatal(err)
			}
			n, err := tokens.Count(string(raw))
			if err != nil {
				t.Fatal(err)
			}
			d, err := tokens.Count(g.Declaration(s, tool))
			if err != nil {
				t.Fatal(err)
			}
			sig, err := tokens.Count(g.Signature(s, tool))
			if err != nil {
				t.Fatal(err)
			}
			whole, declared, signed, longest = whole+n, declared+d, signed+sig, max(longest, d)
		}
	}
	t.Logf("%d tools: JSON %d tokens, declarations %d (%.2f), the longest %d, signatures %d (%.2f)", len(c.Tools()),
		whole, declared, float64(declared)/float64(whole), longest, signed, float64(signed)/float64(whole))
	if declared*2 > whole {
		t.Errorf("declarations have %d tokens of %d", declared, whole)
	}
}

// Schemas that are made to explode, or to never end, cost no more than large
// ones, and their tools are there all the same.
func TestHostileSchemasEndSoon(t *testing.T) {
	refs := &strings.Builder{}
	chain := &strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(refs, `"p%d":{"$ref":"#/$defs/d%d"},`, i, i)
		fmt.Fprintf(chain, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	bomb := &strings.Builder{}
	for i := range 60 {
		fmt.Fprintf(bomb, `"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	wide := &strings.Builder{}
	for i := range 400 {
		fmt.Fprintf(wide, `{"type":"object","properties":{"k%d":{"enum":["a%d","b"]}}},`, i%700, i)
	}
	for name, schema := range map[string]string{
		"alias loop":     `{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		"10,000 refs":    `{"type":"object","properties":{` + refs.String() + `"x":{}},"$defs":{` + chain.String() + `"d10000":{"type":"string"}}}`,
		"doubling":       `{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{` + bomb.String() + `"d60":{"type":"string"}}}`,
		"deep":           strings.Repeat(`{"type":"object","properties":{"a":`, 5_000) + `{}` + strings.Repeat(`}}`, 5_000),
		"deep unions":    strings.Repeat(`{"anyOf":[{"type":"string"},{"type":"array","items":`, 3_000) + `{}` + strings.Repeat(`}]}`, 3_000),
		"24 deep":        strings.Repeat(`{"type":"object","properties":{"a":`, 24) + `{}` + strings.Repeat(`}}`, 24),
		"wide union":     `{"type":"object","properties":{"x":{"anyOf":[` + wide.String() + `{}]}}}`,
		"wide allOf":     `{"type":"object","allOf":[` + wide.String() + `{}]}`,
		"itself":         `{"anyOf":[{"$ref":"#"},{"allOf":[{"$ref":"#"}]}]}`,
		"half a schema":  `{"type":"object","properties":{"a":`,
		"other material": "\x00\xff",
	} {
		t.Run(name, func(t *testing.T) {
			c := discovery.NewCatalog([]discovery.Listing{{Server: "s", Tools: []discovery.ListedTool{
				{Name: "t", InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(schema)}}}})
			start := time.Now()
			checkParses(t, new(codegen.Generator), c)
			t.Log("took", time.Since(start))
			// A hang would be minutes; this much is a slow machine.
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// BenchmarkImport bundles and runs a script that imports from two of 40
// servers, in a runtime that stands ready, as a warm worker has it. The tools of
// the other servers cost nothing, and those of the two that are not imported
// next to nothing.
func BenchmarkImport(b *testing.B) {
	for _, per := range []int{10, 100, 350} {
		b.Run(fmt.Sprintf("%d tools", 40*per), func(b *testing.B) {
			listings := make([]discovery.Listing, 40)
			for i := range listings {
				listings[i].Server = fmt.Sprintf("server-%d", i)
				n := per
				if i < 2 {
					n = 30
				}
				for j := range n {
					listings[i].Tools = append(listings[i].Tools, discovery.ListedTool{Name: fmt.Sprintf("list_things_%d", j)})
				}
			}
			c := discovery.NewCatalog(listings)
			p := jsrun.Program{Language: sandbox.TypeScript, Code: `
import { listThings3 } from './servers/server-0';
import { listThings5 } from './servers/server-1';
const a: { n: number } = await listThings3({ n: 1 });
return a.n + (await listThings5({ n: 2 })).n`}
			for i, s := range c.Servers() {
				p.ModuleNames = append(p.ModuleNames, codegen.ModulePath(s))
				if i < 2 {
					m := codegen.RunModule(s, nil)
					p.Modules = append(p.Modules, sandbox.Module{Path: m.Path, Source: m.Source, Exports: m.Exports, Global: m.Global})
				}
			}
			jsrun.Warm()
			for b.Loop() {
				b.StopTimer()
				spare := jsrun.NewSpare()
				b.StartTimer()
				if out := spare.Run(b.Context(), p, silentHost{}); string(out.Value) != "3" {
					b.Fatalf("%s %s", out.Value, out.Error)
				}
			}
		})
	}
}
