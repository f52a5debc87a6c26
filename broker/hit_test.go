package broker

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/sandbox/inproc"
)

func TestSplitSignature(t *testing.T) {
	for _, c := range []struct{ sig, name, input, output string }{
		{"a.b(): Promise<any>", "a.b", "", "Promise<any>"},
		{"a.b(input: { x: (1 | 2)[] }): Promise<{ y: string }>", "a.b", "input: { x: (1 | 2)[] }", "Promise<{ y: string }>"},
		{`a.b(input?: { x?: ")" | "\")" }): Promise<any>`, "a.b", `input?: { x?: ")" | "\")" }`, "Promise<any>"},
		{"nothing", "nothing", "", ""},
		{"a.b(never ends", "a.b", "never ends", ""},
	} {
		name, input, output := splitSignature(c.sig)
		if diff := cmp.Diff([]string{c.name, c.input, c.output}, []string{name, input, output}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.sig, diff)
		}
	}
}

func TestCloseUp(t *testing.T) {
	for in, want := range map[string]string{
		"{ a: { b: string }; c: 1 }": "{a:{b:string};c:1}",
		`{ a: "{ x }" | '\' }' }`:    `{a:"{ x }" | '\' }'}`,
		"string[]":                   "string[]",
		"(string | null)[], ":        "(string | null)[], ",
	} {
		if got := closeUp(in); got != want {
			t.Errorf("closeUp(%s) = %s, want %s", in, got, want)
		}
	}
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

// What is no tool is found with its kind and how to use it.
func TestEntriesAreFound(t *testing.T) {
	b, err := New(Options{Runner: inproc.New()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	b.entries.set("skills", []entry{{
		Entry: index.Entry{ID: "pdf-forms", Kind: "skill", Name: "pdf-forms", Description: "Fill in PDF forms. Needs a file."},
		use:   `activate_skill({"name": "pdf-forms"})`,
	}})
	a, err := b.Search(t.Context(), SearchRequest{Query: "fill a form"})
	if err != nil {
		t.Fatal(err)
	}
	want := []SearchHit{{Kind: "skill", Name: "pdf-forms", Description: "Fill in PDF forms.", Use: `activate_skill({"name": "pdf-forms"})`}}
	if diff := cmp.Diff(want, a.Tools); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
	b.entries.set("skills", nil)
	if a, err = b.Search(t.Context(), SearchRequest{Query: "fill a form"}); err != nil || len(a.Tools) != 0 {
		t.Errorf("removed and still found: %+v, %v", a.Tools, err)
	}
}

// A fork of a server has the same tools. Its copy must not look like another
// tool further down.
func TestEqualToolsStandSideBySide(t *testing.T) {
	tool := func(id, name, description, schema string) result {
		return result{tool: &discovery.Tool{ID: id, ListedTool: discovery.ListedTool{Name: name, Description: description, InputSchema: []byte(schema)}}}
	}
	ranked := []result{
		tool("work__list", "list", "List issues.", `{"a":1}`),
		tool("other__list", "list", "List files.", `{"a":1}`),
		{entry: &entry{Entry: index.Entry{ID: "p", Kind: "prompt"}}},
		tool("home__list", "list", "List issues.", `{}`),
		tool("x__get", "get", "", `{"a":1}`),
		tool("y__get", "get", "", `{"b":1}`),
		tool("z__get", "get", "", `{"a":1}`),
	}
	var got []string
	for _, r := range foldEqual(ranked) {
		got = append(got, r.id())
	}
	want := []string{"work__list", "home__list", "other__list", "p", "x__get", "z__get", "y__get"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
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
		{index.Hits{Unmatched: strings.Split(strings.Repeat("word ", 20), " ")}, "nothing matches: word, word, word, word, word, word, word, word, and 13 more"},
	} {
		var s search
		s.explainWords(c.found)
		if s.answer.Note != c.want {
			t.Errorf("%+v: note %q, want %q", c.found, s.answer.Note, c.want)
		}
	}
}
