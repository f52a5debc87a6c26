package broker_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// catalogue returns a broker that knows the tools of these servers.
func catalogue(t testing.TB, servers ...upstream.Config) *broker.Broker {
	t.Helper()
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: servers})
	b.Refresh(t.Context())
	return b
}

func search(t testing.TB, b *broker.Broker, r broker.SearchRequest) broker.SearchAnswer {
	t.Helper()
	a, err := b.Search(t.Context(), r)
	if err != nil {
		t.Fatalf("Search(%+v): %v", r, err)
	}
	if a.Showing != len(a.Tools) || a.Tools == nil {
		t.Errorf("Search(%+v) says that it shows %d and shows %d", r, a.Showing, len(a.Tools))
	}
	return a
}

func names(a broker.SearchAnswer) []string {
	var names []string
	for _, h := range a.Tools {
		names = append(names, h.Name)
	}
	return names
}

// What a search costs a model: five hits in less than 1,000 bytes.
func TestFiveHitsAreShort(t *testing.T) {
	var tools []listedTool
	for _, verb := range []string{"watch", "book", "cancel", "list", "track", "delay", "price"} {
		description := fmt.Sprintf("Use this to %s any flight of an airline of your choice.", verb)
		if n := len(description); n > 60 || n < 55 {
			t.Fatalf("the description has %d characters", n)
		}
		tools = append(tools, listedTool{Name: verb + "_flight", Description: description, InputSchema: stringParams("id", "limit")})
	}
	b := catalogue(t, listing(t, "synth", tools...))
	cs := connect(t, b, "2025-11-25", nil)
	text, _ := call(t, cs, "search_tools", map[string]any{"query": "flight", "limit": 5})
	if n := strings.Count(text, `"signature"`); n != 5 || len(text) >= 1000 {
		t.Errorf("%d hits in %d bytes, want five in less than 1000:\n%s", n, len(text), text)
	}
}

// However long a definition is, a hit has room for it, and says what it left
// out.
func TestHitsAreBounded(t *testing.T) {
	long := strings.Repeat("This sentence describes the tool in many words. ", 400)
	var wide []string
	for i := range 300 {
		wide = append(wide, fmt.Sprintf("parameter_number_%d", i))
	}
	var enum []string
	for i := range 900 {
		enum = append(enum, fmt.Sprintf(`"value %d"`, i))
	}
	b := catalogue(t, listing(t, "big",
		listedTool{Name: "talk", Description: long, InputSchema: stringParams("a")},
		listedTool{Name: "wide", Description: "Wide.", InputSchema: stringParams(wide...)},
		listedTool{Name: "both", Description: long, InputSchema: stringParams(wide...)},
		listedTool{Name: "choose", Description: "Choose one.", InputSchema: json.RawMessage(`{"type":"object","properties":{"of":{"enum":[` + strings.Join(enum, ",") + `]}}}`)},
	))
	for _, tool := range []string{"talk", "wide", "both", "choose"} {
		for _, d := range []broker.Detail{broker.DetailDesc, broker.DetailFull} {
			a := search(t, b, broker.SearchRequest{Query: "big__" + tool, Detail: d, Limit: 1})
			h, err := json.Marshal(a.Tools[0])
			if err != nil {
				t.Fatal(err)
			}
			got := a.Tools[0]
			if most := map[broker.Detail]int{broker.DetailDesc: 1400, broker.DetailFull: 3 << 4 << 10}[d]; len(h) > most || !utf8.Valid(h) {
				t.Errorf("%s at %s takes %d bytes, want at most %d", tool, d, len(h), most)
			}
			if got.Declaration == "" || len(got.Declaration) > 1300 {
				t.Errorf("%s at %s has a declaration of %d bytes", tool, d, len(got.Declaration))
			}
			if (d == broker.DetailFull) != json.Valid(got.Parameters) {
				t.Errorf("%s at %s has parameters %.100s", tool, d, got.Parameters)
			}
			if tool == "talk" && d == broker.DetailFull && (!strings.HasSuffix(got.Description, "… [write]") || len(got.Description) < 10_000) {
				t.Errorf("a description of %d bytes is cut to %d without a mark: …%s", len(long), len(got.Description), got.Description[max(0, len(got.Description)-30):])
			}
		}
	}
}

func TestAnUnknownServerCountsAsWords(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	b.Refresh(t.Context())
	a := search(t, b, broker.SearchRequest{Query: "create", Server: "note"})
	if len(a.Tools) == 0 || a.Tools[0].Name != "notes__create_note" || !strings.Contains(a.Note, "did you mean notes?") {
		t.Errorf("%v, note %q", names(a), a.Note)
	}
	if a := search(t, b, broker.SearchRequest{Query: "", Server: "note"}); len(a.Tools) != 1 {
		t.Errorf("the name alone finds %v", names(a))
	}
}

func TestAnEmptyAnswerNamesWhatIsNear(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	b.Refresh(t.Context())
	a := search(t, b, broker.SearchRequest{Query: "read file"})
	if a.Note != "" || a.Suggestions != nil || a.Unsearched != nil {
		t.Errorf("a plain answer has note %q, %v, %v", a.Note, a.Suggestions, a.Unsearched)
	}
	a = search(t, b, broker.SearchRequest{Query: "read file", Server: "notes"})
	if len(a.Tools) != 0 || !slices.Contains(a.Suggestions, "files__read_file") || !strings.Contains(a.Note, "nothing on notes matches") {
		t.Errorf("nothing on that server: %v, note %q, suggestions %v", names(a), a.Note, a.Suggestions)
	}
}

func TestServersThatCouldNotBeSearchedAreNamed(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: []upstream.Config{upstreamConfig(t, "files"), {Name: "dead", Command: "/no/such/program"}}})
	b.Refresh(t.Context())
	a := search(t, b, broker.SearchRequest{Query: "zebra"})
	if len(a.Unsearched) != 1 || !strings.HasPrefix(a.Unsearched[0], "dead (failed: ") || a.Note == "" {
		t.Errorf("nothing found: unsearched %q, note %q", a.Unsearched, a.Note)
	}
	a = search(t, b, broker.SearchRequest{Query: "read file"})
	if diff := cmp.Diff([]string{"dead (failed)"}, a.Unsearched); diff != "" {
		t.Errorf("found, and unsearched (-want +got):\n%s", diff)
	}
	a = search(t, b, broker.SearchRequest{Query: "read file", Server: "dead"})
	if len(a.Tools) != 0 || !strings.Contains(a.Note, "the tools of dead are not known yet") {
		t.Errorf("on a dead server: %v, note %q", names(a), a.Note)
	}
}

func TestReadOnlyModeSaysSo(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{ReadOnly: true})
	b.Refresh(t.Context())
	for _, query := range []string{"files__delete_file", "delete_file"} {
		a := search(t, b, broker.SearchRequest{Query: query, Server: "notes"})
		if len(a.Tools) != 0 || !strings.Contains(a.Note, "read-only") {
			t.Errorf("%s: %v, note %q", query, names(a), a.Note)
		}
	}
	a := search(t, b, broker.SearchRequest{Query: "create_note"})
	if slices.Contains(names(a), "notes__create_note") || !strings.Contains(a.Note, "not marked read-only") {
		t.Errorf("create_note: %v, note %q", names(a), a.Note)
	}
}

func TestBrowsing(t *testing.T) {
	var many []listedTool
	for i := range 70 {
		many = append(many, listedTool{Name: fmt.Sprintf("tool_%02d", i), Description: "A tool.", InputSchema: stringParams(), Annotations: readOnly})
	}
	b := catalogue(t, listing(t, "many", many...), upstreamConfig(t, "files"), upstreamConfig(t, "notes"))

	a := search(t, b, broker.SearchRequest{})
	want := []broker.BrowsedServer{{Name: "many", ToolCount: 70}, {Name: "files", ToolCount: 4}, {Name: "notes", ToolCount: 1}}
	if diff := cmp.Diff(want, a.Servers); diff != "" || a.MatchCount != 75 {
		t.Errorf("all servers, %d tools (-want +got):\n%s", a.MatchCount, diff)
	}
	got := names(a)
	for _, name := range []string{"many__tool_00", "files__read_file", "notes__create_note"} {
		if !slices.Contains(got, name) {
			t.Errorf("the first tools are %v, without %s", got, name)
		}
	}
	if !strings.Contains(a.Note, `{"query": "", "server": "many"}`) {
		t.Errorf("note %q does not say how to go on", a.Note)
	}

	a = search(t, b, broker.SearchRequest{Server: "many"})
	if len(a.Tools) != 50 || a.Tools[49].Name != "many__tool_49" || a.Tools[0].Signature != "" || !strings.Contains(a.Note, `"offset": 50`) {
		t.Errorf("first page: %d tools, note %q", len(a.Tools), a.Note)
	}
	a = search(t, b, broker.SearchRequest{Server: "many", Offset: 50})
	if len(a.Tools) != 20 || a.Tools[0].Name != "many__tool_50" || a.MatchCount != 70 || a.Note != "" {
		t.Errorf("second page: %v, note %q", names(a), a.Note)
	}
	a = search(t, b, broker.SearchRequest{Server: "many", Offset: 500})
	if len(a.Tools) != 0 || a.Note != "many has only 70 tools" {
		t.Errorf("beyond the end: %v, note %q", names(a), a.Note)
	}
	a = search(t, b, broker.SearchRequest{Server: "files", Detail: broker.DetailDesc})
	if len(a.Tools) != 4 || a.Tools[0].Signature == "" {
		t.Errorf("with a detail: %+v", a.Tools)
	}
	a = search(t, b, broker.SearchRequest{Query: "tool", Limit: 3, Offset: 3})
	if len(a.Tools) != 3 || slices.Contains(names(search(t, b, broker.SearchRequest{Query: "tool", Limit: 3})), a.Tools[0].Name) {
		t.Errorf("the second page of a search is %v", names(a))
	}
}

// Whatever a model sends, it gets an answer or is told what is wrong, and an
// empty list has a reason.
func FuzzSearch(f *testing.F) {
	b := newBroker(f, broker.Deps{}, broker.Settings{})
	b.Refresh(f.Context())
	for _, q := range []string{"", " ", "read file", `+-:*"(`, "the of", "\x00\x1b[2J\u202e", "\xff\xfe", "*", ".*", "files.", "__", strings.Repeat("read ", 20_000), strings.Repeat("x", 100_000), "读文件", "🙂"} {
		f.Add(q, "", 0, 0)
		f.Add("read", q, 50, 1)
	}
	f.Fuzz(func(t *testing.T, query, server string, limit, offset int) {
		a, err := b.Search(t.Context(), broker.SearchRequest{Query: query, Server: server, Limit: limit, Offset: offset})
		if err != nil {
			if limit >= 0 && offset >= 0 && offset <= 1_000_000 {
				t.Errorf("Search(%q, %q, %d, %d): %v", query, server, limit, offset, err)
			}
			return
		}
		if len(a.Tools) == 0 && a.Note == "" {
			t.Errorf("Search(%q, %q, %d, %d) is empty without a reason", query, server, limit, offset)
		}
		text, err := json.Marshal(a)
		if err != nil || len(text) > 20_000 {
			t.Errorf("Search(%q, %q, %d, %d) takes %d bytes, %v", query, server, limit, offset, len(text), err)
		}
	})
}
