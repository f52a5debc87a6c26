package find

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/codegen"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/catalogues"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/tsname"
)

// Whatever else a signature leaves out, each required parameter of every real tool is
// there with its type, unless that is string, and an enumeration with its first values.
func TestSignaturesHaveWhatIsRequired(t *testing.T) {
	types := new(codegen.Generator)
	tools, parameters := 0, 0
	for _, file := range catalogues.All() {
		var listing discovery.Listing
		if err := json.Unmarshal(file.Data, &listing); err != nil {
			t.Fatalf("%s: %v", file.Name, err)
		}
		for _, server := range discovery.NewCatalog([]discovery.Listing{listing}).Servers() {
			for _, tool := range server.Tools {
				tools++
				line := renderer{types: types}.signature(server, tool)
				for _, want := range required(t, tool) {
					parameters++
					if !strings.Contains(line, want) {
						t.Errorf("%s: no %s in %s", tool.ID, want, line)
					}
					if !strings.Contains(want, ":") && !strings.Contains(line, want+";") && !strings.Contains(line, want+"}") {
						t.Errorf("%s: the text %s has a type in %s", tool.ID, want, line)
					}
				}
			}
		}
	}
	if tools < 80 || parameters < 100 {
		t.Errorf("only %d required parameters of %d tools were looked at", parameters, tools)
	}
}

// required are the beginnings of the required parameters as a signature has them.
func required(t *testing.T, tool *discovery.Tool) []string {
	t.Helper()
	var schema struct {
		Properties map[string]struct {
			Type any   `json:"type"`
			Enum []any `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
		t.Fatalf("%s: %v", tool.ID, err)
	}
	simple := map[any]string{"number": "number", "integer": "number", "boolean": "boolean"}
	var all []string
	for _, name := range schema.Required {
		p, ok := schema.Properties[name]
		if !ok {
			continue
		}
		key := name
		if !tsname.IsIdentifier(name) {
			key = "'" + name + "'"
		}
		kind, _ := p.Type.(string)
		if kind == "string" && len(p.Enum) == 0 {
			all = append(all, key)
			continue
		}
		key += ":"
		switch {
		case len(p.Enum) > 0:
			var values []string
			for _, v := range p.Enum[:min(4, len(p.Enum))] {
				values = append(values, strings.ReplaceAll(string(gate.Compact(v)), `"`, "'"))
			}
			key += strings.Join(values, "|")
		case simple[kind] != "":
			key += simple[kind]
		}
		all = append(all, key)
	}
	return all
}

// The first hit without a result type says what a script gets; the others do not repeat
// it.
func TestHitsSayWhatAnUntypedToolGives(t *testing.T) {
	typed := discovery.ListedTool{Name: "typed", OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`)}
	object := discovery.ListedTool{Name: "object", OutputSchema: json.RawMessage(`{"type":"object"}`)}
	empty := discovery.ListedTool{Name: "empty", OutputSchema: json.RawMessage(`{}`)}
	learned := discovery.ListedTool{Name: "learned"}
	plain := discovery.ListedTool{Name: "plain"}
	c := discovery.NewCatalog([]discovery.Listing{{Server: "s", Tools: []discovery.ListedTool{typed, object, empty, learned, plain}}})
	types := &codegen.Generator{Output: func(tool *discovery.Tool) *codegen.Output {
		if tool.Name != "learned" {
			return nil
		}
		return &codegen.Output{Schema: json.RawMessage(`{"type":"integer"}`), Note: "learned from 2 calls"}
	}}
	says := map[string]string{"a signature": "// JSON or text", "a declaration": "// text (parsed if JSON) or [{type,text|mimeType,size,ref}]", "a name": "//"}
	for _, tt := range []struct {
		tool string
		want bool
	}{{"typed", false}, {"object", false}, {"empty", true}, {"learned", false}, {"plain", true}} {
		tool, _ := c.Tool("s__" + tt.tool)
		s, _ := c.Server("s")
		for _, callsOnly := range []bool{false, true} {
			w := renderer{types: types, callsOnly: callsOnly}
			for name, h := range map[string]SearchHit{"a signature": {Signature: w.signature(s, tool)}, "a declaration": {Declaration: types.Declaration(s, tool)}, "a name": {}} {
				want := tt.want && !callsOnly && name != "a name"
				if got := w.explainResult(&h, tool); got != want || strings.Contains(h.Signature+h.Declaration, says[name]) != want {
					t.Errorf("%s, %s, calls only %t: %v %+v, want %v", tt.tool, name, callsOnly, got, h, want)
				}
			}
		}
	}
}

func TestClause(t *testing.T) {
	for _, c := range []struct{ description, want string }{
		{"Read a file. Then more.", "Read a file"},
		{"This tool reads a file", "reads a file"},
		{"Use this to book any flight of an airline of your choice.", "book any flight of an airline of your choice"},
		{"Convert an address or place name to geographic coordinates with detailed location information.", "Convert an address or place name"},
		{"Generate a route map to display the user's planned route, such as travel guide routes.", "Generate a route map to display the user's planned route"},
		{"Delete, remove, or destroy an Azure Virtual Machine Scale Set", "Delete, remove, or destroy an Azure Virtual Machine…"},
		{"查询特定列车车次在指定区间内的途径车站、到站时间、出发时间及停留时间等详细经停信息。", "查询特定列车车次在指定区间内的途径…"},
		{"This tool lists files", "This tool lists files"},
		{"🎯 Purpose:\n  1. Retrieves a paginated list of objects from the CRM of the account.", "Retrieves a paginated list of objects"},
		{"Downloads https://example.com/a/path/that/is/long/enough/to/be/cut.zip", "Downloads…"},
		{"Reads the value of a field at org.example:name:1,000 or as it is", "Reads the value of a field at org.example:name:1,000"},
		{strings.Repeat("x", 100), strings.Repeat("x", 53) + "…"},
		{"", ""},
	} {
		got := clause(c.description, clauseMax)
		if got != c.want {
			t.Errorf("clause(%q) = %q, want %q", c.description, got, c.want)
		}
	}
}

// The shown part of a recorded description has at least three words, if the description
// has as many.
func TestRecordedDescriptionsSaySomething(t *testing.T) {
	descriptions := recordedDescriptions(t)
	name := func(id string) string { return id[strings.IndexByte(id, '/')+1:] }
	words := func(s string) int {
		unspaced := 0
		for _, r := range s {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
				unspaced++
			}
		}
		return len(strings.Fields(s)) + unspaced/2
	}
	for id, text := range descriptions {
		for _, got := range []string{clause(withoutName(text, name(id)), clauseMax), clause(withoutName(text, name(id)), markedMax), codegen.FirstSentence(text, firstSentence)} {
			if words(got) < 3 && words(text) > words(got) {
				t.Errorf("%s: %q of %q", id, got, gate.Cut(text, 200))
			}
			if strings.ContainsAny(got, "\n") || strings.HasPrefix(got, "#") || strings.Contains(got, "```") {
				t.Errorf("%s: Markdown in %q", id, got)
			}
		}
	}
	t.Logf("%d descriptions", len(descriptions))
}

// recordedDescriptions returns the descriptions of the tools of many servers, by server
// and name.
func recordedDescriptions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, file := range catalogues.All() {
		var listing struct {
			Tools []struct{ Name, Description string }
		}
		if err := json.Unmarshal(file.Data, &listing); err != nil {
			t.Fatal(file.Name, err)
		}
		for _, tool := range listing.Tools {
			all[file.Name+"/"+tool.Name] = tool.Description
		}
	}
	list, err := os.Open(retrieval + "tools.jsonl")
	if err != nil {
		return all
	}
	defer list.Close()
	for d := json.NewDecoder(list); d.More(); {
		var tool struct{ Server, Name, Description string }
		if err := d.Decode(&tool); err != nil {
			t.Fatal(err)
		}
		all[tool.Server+"/"+tool.Name] = tool.Description
	}
	return all
}

func FuzzClipBytes(f *testing.F) {
	f.Add("some words, and more", 12)
	f.Add("\"quotes\"\n\n\n", 5)
	f.Add("字字字字", 7)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		got := clipBytes(text, limit)
		if limit >= 3 && cost(got) > limit {
			t.Errorf("clipBytes(%q, %d) = %q, which costs %d", text, limit, got, cost(got))
		}
		if got != text && !strings.HasSuffix(got, "…") {
			t.Errorf("clipBytes(%q, %d) = %q without a mark", text, limit, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("clipBytes(%q, %d) = %q splits a character", text, limit, got)
		}
	})
}

// finderOf returns a Finder of these tools.
func finderOf(t testing.TB, listings ...discovery.Listing) *Finder {
	c := catalog.New(catalog.Options{Fixed: listings}, &upstream.Options{}, func() {})
	f := New(Options{}, c, &index.Options{})
	t.Cleanup(func() { _, _ = f.Close(), c.Close() })
	return f
}

// What is no tool is found with its kind and how to use it.
func TestEntriesAreFound(t *testing.T) {
	f := finderOf(t)
	f.Set("skills", []Entry{{
		Entry: index.Entry{ID: "pdf-forms", Kind: "skill", Name: "pdf-forms", Description: "Fill in PDF forms. Needs a file."},
		Use:   `activate_skill({"name": "pdf-forms"})`,
	}})
	a, err := f.Search(t.Context(), SearchRequest{Query: "fill a form"})
	if err != nil {
		t.Fatal(err)
	}
	want := []SearchHit{{Kind: "skill", Name: "pdf-forms", Description: "Fill in PDF forms.", Use: `activate_skill({"name": "pdf-forms"})`}}
	if diff := cmp.Diff(want, a.Tools); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
	f.Set("skills", nil)
	if a, err = f.Search(t.Context(), SearchRequest{Query: "fill a form"}); err != nil || len(a.Tools) != 0 {
		t.Errorf("removed and still found: %+v, %v", a.Tools, err)
	}
}

func TestNoteOnWords(t *testing.T) {
	for _, c := range []struct {
		found index.Hits
		want  string
	}{
		{index.Hits{}, ""},
		{index.Hits{Unmatched: []string{"foo", "bar"}}, "nothing matches: foo, bar"},
		{index.Hits{Repaired: []index.Repair{{From: "isues", To: "issues"}}}, `"isues" was read as "issues"`},
		{index.Hits{Repaired: []index.Repair{{From: "isues", To: "issues"}}, Unmatched: []string{"foo"}},
			`"isues" was read as "issues"; nothing matches: foo`},
		{index.Hits{Replaced: []index.Replacement{{From: "erase", To: []string{"delete", "remove"}}}}, `no tool has the word "erase": searched for delete or remove`},
		{index.Hits{Unmatched: strings.Split(strings.Repeat("word ", 20), " ")}, "nothing matches: word, word, word, word, word, word, word, word, and 13 more"},
	} {
		var s search
		s.explainWords(c.found)
		if s.answer.Note != c.want {
			t.Errorf("%+v: note %q, want %q", c.found, s.answer.Note, c.want)
		}
	}
}
