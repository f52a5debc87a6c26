package learned

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// A call is one result as a test gives it.
type call struct{ args, value string }

func observe(t *testing.T, s *Store, calls ...call) (drifts []string) {
	t.Helper()
	for _, c := range calls {
		if !json.Valid([]byte(c.value)) {
			t.Fatalf("test value is not JSON: %s", c.value)
		}
		drifts = append(drifts, s.Observe("srv", "tool", json.RawMessage(c.args), json.RawMessage(c.value))...)
	}
	return drifts
}

// record opens the record in dir, which a process has once.
func record(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	types, err := sqlite.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := types.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return types
}

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s := New(record(t, dir), nil)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestSchema(t *testing.T) {
	many := func(prefix string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `%s"%s%d":%d`, strings.Repeat(",", min(i, 1)), prefix, i, i)
		}
		return "{" + b.String() + "}"
	}
	tests := []struct {
		name  string
		calls []call
		want  string // "" means that nothing is shown
	}{
		{"one call shows nothing", []call{{`{"a":1}`, `{"id":1}`}}, ""},
		{"keys that two calls with other arguments had are fields",
			[]call{{`{"a":1}`, `{"id":1,"title":"x"}`}, {`{"a":2}`, `{"id":2,"title":"y"}`}},
			`{"type":"object","properties":{"id":{"type":"integer"},"title":{"type":"string"}},"required":["id","title"]}`},
		{"keys that only calls with the same arguments had are data",
			[]call{{`{"a":1}`, `{"alice":1,"bob":2}`}, {`{ "a": 1 }`, `{"alice":1,"bob":2.5}`}},
			`{"type":"object","additionalProperties":{"type":"number"}}`},
		{"the order of arguments is no difference",
			[]call{{`{"a":1,"b":2}`, `{"alice":1}`}, {`{"b":2,"a":1}`, `{"alice":1}`}},
			`{"type":"object","additionalProperties":{"type":"integer"}}`},
		{"a key that was absent once is optional",
			[]call{{`1`, `{"id":1}`}, {`2`, `{"id":1,"closed":true}`}, {`3`, `{"id":1,"closed":false}`}},
			`{"type":"object","properties":{"id":{"type":"integer"},"closed":{"type":"boolean"}},"required":["id"]}`},
		{"a key that one element lacks is optional",
			[]call{{`1`, `[{"a":1,"b":1},{"a":1}]`}, {`2`, `[{"a":1,"b":1}]`}},
			`{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a"]}}`},
		{"texts and images of a tool without parameters",
			[]call{{`{}`, `[{"type":"text","text":"hi"},{"type":"image","mimeType":"image/png","size":2,"ref":"r_1"}]`}, {`{}`, `[{"type":"text","text":"hi"}]`}},
			`{"type":"array","items":{"type":"object","properties":{"type":{"type":"string"},"text":{"type":"string"},"mimeType":{"type":"string"},"size":{"type":"integer"},"ref":{"type":"string"}},"required":["type"]}}`},
		{"an image of a query, then a text",
			[]call{{`{"query":"a"}`, `{"type":"image","mimeType":"image/png","size":2,"ref":"r_1"}`}, {`{"query":"b"}`, `{"type":"text","text":"hi"}`}, {`{"query":"c"}`, `{"type":"text","text":"hi"}`}},
			`{"type":"object","properties":{"type":{"type":"string"},"mimeType":{"type":"string"},"size":{"type":"integer"},"ref":{"type":"string"},"text":{"type":"string"}},"required":["type"]}`},
		{"records with a type and other keys may be data",
			[]call{{`{}`, `[{"type":"a","text":"x","alice":1}]`}, {`{}`, `[{"type":"a","text":"x","alice":1}]`}},
			`{"type":"array","items":{"type":"object","additionalProperties":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}`},
		{"kinds unite, integers are numbers",
			[]call{{`1`, `[1,"a",null]`}, {`2`, `[1.5,true]`}},
			`{"type":"array","items":{"anyOf":[{"type":"boolean"},{"type":"number"},{"type":"string"},{"type":"null"}]}}`},
		{"formats hold for every string",
			[]call{
				{`1`, `{"at":"2026-01-02T03:04:05Z","day":"2026-01-02","url":"https://x.org/a","mail":"a@b.org","id":"123e4567-e89b-12d3-a456-426614174000","mix":"2026-01-02"}`},
				{`2`, `{"at":"2026-01-02T03:04:05.5+01:00","day":"2025-01-02","url":"ssh://x","mail":"c@d.org","id":"123E4567-e89b-12d3-a456-426614174000","mix":"tomorrow"}`}},
			`{"type":"object","properties":{"at":{"type":"string","format":"date-time"},"day":{"type":"string","format":"date"},"url":{"type":"string","format":"uri"},` +
				`"mail":{"type":"string","format":"email"},"id":{"type":"string","format":"uuid"},"mix":{"type":"string"}},"required":["at","day","url","mail","id","mix"]}`},
		{"a key that is no name makes a map",
			[]call{{`1`, `{"John Smith":{"age":1},"Eve":{"age":2}}`}, {`2`, `{"Eve":{"age":2}}`}},
			`{"type":"object","additionalProperties":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}}`},
		{"more keys than a record has make a map",
			[]call{{`1`, many("k", 41)}, {`2`, many("k", 41)}},
			`{"type":"object","additionalProperties":{"type":"integer"}}`},
		{"keys that are other ones each time make a map",
			[]call{{`1`, many("a", 30)}, {`2`, many("b", 30)}},
			`{"type":"object","additionalProperties":{"type":"integer"}}`},
		{"rows of queries for other columns are maps",
			[]call{{`{"sql":"a"}`, `{"rows":[{"id":1,"name":"x"}],"count":1}`}, {`{"sql":"b"}`, `{"rows":[{"total":2}],"count":1}`}, {`{"sql":"a2"}`, `{"rows":[{"id":1,"name":"x"}],"count":1}`}},
			`{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","additionalProperties":{"anyOf":[{"type":"integer"},{"type":"string"}]}}},"count":{"type":"integer"}},"required":["rows","count"]}`},
		{"nodes of a graph, some of whose keys are alike",
			[]call{{`{"cypher":"a"}`, `[{"id":1,"title":"x"}]`}, {`{"cypher":"b"}`, `[{"id":1,"title":"x"}]`}, {`{"cypher":"c"}`, `[{"id":1,"born":1815}]`}},
			`{"type":"array","items":{"type":"object","additionalProperties":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}`},
		{"found things of several kinds",
			[]call{{`{"query":"a"}`, `{"hits":[{"page":"x"}]}`}, {`{"query":"b"}`, `{"hits":[{"page":"x"}]}`}, {`{"query":"c"}`, `{"hits":[{"person":"x"}]}`}},
			`{"type":"object","properties":{"hits":{"type":"array","items":{"type":"object","additionalProperties":{"type":"string"}}}},"required":["hits"]}`},
		{"found things of one kind, some with more fields",
			[]call{{`{"query":"a"}`, `{"hits":[{"id":1}]}`}, {`{"query":"b"}`, `{"hits":[{"id":1,"tag":"x"}]}`}, {`{"query":"c"}`, `{"hits":[{"id":2,"tag":"y"}]}`}},
			`{"type":"object","properties":{"hits":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"tag":{"type":"string"}},"required":["id"]}}},"required":["hits"]}`},
		{"keys that differ from call to call without a query",
			[]call{{`1`, `{"a":1}`}, {`2`, `{"b":1}`}, {`3`, `{"c":1}`}, {`4`, `{"c":1}`}},
			`{"type":"object","additionalProperties":{"type":"integer"}}`},
		{"a server with another version",
			[]call{{`1`, `{"a":1}`}, {`2`, `{"a":1}`}, {`3`, `{"b":1}`}, {`4`, `{"b":1}`}},
			`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`},
		{"forty keys are a record",
			[]call{{`1`, many("k", 40)}, {`2`, many("k", 40)}}, "40"},
		{"text is a string", []call{{`1`, `"hello"`}, {`2`, `"there"`}}, `{"type":"string"}`},
		{"an empty array has unknown elements", []call{{`1`, `[]`}, {`2`, `[]`}}, `{"type":"array"}`},
		{"only null", []call{{`1`, `null`}, {`2`, `null`}}, `{"type":"null"}`},
		{"escaped keys are read", []call{{`1`, `{"\u0061b":1}`}, {`2`, `{"ab":1}`}},
			`{"type":"object","properties":{"ab":{"type":"integer"}},"required":["ab"]}`},
		{"a key that is there twice is there once", []call{{`1`, `{"a":1,"a":"x"}`}, {`2`, `{"a":1}`}},
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"string"}]}},"required":["a"]}`},
		{"depth is bounded",
			[]call{{`1`, strings.Repeat(`[`, 50) + strings.Repeat(`]`, 50)}, {`2`, `[]`}},
			`{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"array"}}}}}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, t.TempDir())
			observe(t, s, tt.calls...)
			typ, ok := s.Type("srv", "tool")
			if tt.want == "40" {
				var schema struct{ Properties map[string]any }
				if err := json.Unmarshal(typ.Schema, &schema); err != nil || len(schema.Properties) != 40 {
					t.Errorf("%d properties, %v, want 40: %s", len(schema.Properties), err, typ.Schema)
				}
				return
			}
			if got := string(typ.Schema); got != tt.want || ok != (tt.want != "") {
				t.Errorf("schema\n got %s\nwant %s", got, tt.want)
			}
			if ok && typ.Calls != len(tt.calls) {
				t.Errorf("calls = %d, want %d", typ.Calls, len(tt.calls))
			}
		})
	}
}

func manyKeys(n int) string {
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf(`"k%d":1`, i))
	}
	slices.Reverse(keys)
	return strings.Join(keys, ",")
}

func TestOneValueIsNoHabit(t *testing.T) {
	s := open(t, t.TempDir())
	if d := observe(t, s, call{`1`, `{"tags":[]}`}, call{`2`, `{"tags":[]}`}, call{`3`, `{"tags":["a"]}`}, call{`4`, `{"tags":[1]}`}); d != nil {
		t.Errorf("drift from one value: %v", d)
	}
}

// A process that holds the file for long costs the others nothing but that they
// write later.
func TestLearningWaitsForNoOtherProcess(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	observe(t, first, call{`1`, `{"id":1}`}, call{`2`, `{"id":1}`})
	if err := first.Flush(); err != nil {
		t.Fatal(err)
	}
	other := open(t, dir)
	// This one holds the file until it may go on.
	held, release := make(chan struct{}), make(chan struct{})
	holder := make(chan error, 1)
	go func() {
		_, err := first.types.Change(t.Context(), []state.ToolName{{Server: "x"}}, func(state.TypeRow) ([]byte, error) {
			close(held)
			<-release
			return nil, nil
		})
		holder <- err
	}()
	<-held
	observe(t, other, call{`3`, `{"id":1}`})
	flushed := make(chan error, 1)
	go func() { flushed <- other.Flush() }()
	observe(t, other, call{`4`, `{"id":1}`})
	if typ, ok := other.Type("srv", "tool"); !ok || typ.Calls != 4 {
		t.Errorf("type %+v", typ)
	}
	select {
	case err := <-flushed:
		t.Errorf("Flush = %v while another process held the file", err)
	default:
	}
	close(release)
	if err := <-holder; err != nil {
		t.Fatal(err)
	}
	if err := <-flushed; err != nil {
		t.Errorf("Flush = %v", err)
	}
	if err := other.Flush(); err != nil {
		t.Errorf("Flush = %v", err)
	}
	if typ, ok := open(t, dir).Type("srv", "tool"); !ok || typ.Calls != 4 {
		t.Errorf("written %+v, want 4 calls", typ)
	}
}

func TestDrift(t *testing.T) {
	three := []call{
		{`1`, `{"items":[{"n":1,"s":"a","o":null}],"total":1}`},
		{`2`, `{"items":[{"n":1.5,"s":"a","x":1,"o":{}}],"total":1}`},
		{`3`, `{"items":[{"n":2,"s":"b","o":null}],"total":1}`},
	}
	tests := []struct {
		name  string
		value string
		want  []string
	}{
		{"the same", `{"items":[{"n":1,"s":"","o":null}],"total":3}`, nil},
		{"more than before is no drift", `{"items":[{"n":1,"s":"","new":1,"o":null}],"total":3,"more":1}`, nil},
		{"no items", `{"items":[],"total":0}`, nil},
		{"missing", `{"items":[]}`, []string{"total was there in all 3 calls before and is missing now"}},
		{"missing in some", `{"items":[{"n":1,"s":"","o":null},{"n":1,"o":null}],"total":0}`, []string{"items[].s was there in all 3 calls before and is missing in 1 of 2 places now"}},
		{"kind", `{"items":[{"n":"1","s":"","o":null}],"total":3}`, []string{"items[].n was always a number and is a string now"}},
		{"too many keys to look at", `{` + manyKeys(60) + `,"items":[],"total":0}`, nil},
		{"null is no kind", `{"items":[{"n":null,"s":"","o":null}],"total":3}`, nil},
		{"root", `[]`, []string{"the result was always an object and is an array now"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, t.TempDir())
			if d := observe(t, s, three...); d != nil {
				t.Errorf("drift while learning: %v", d)
			}
			if diff := cmp.Diff(tt.want, observe(t, s, call{`4`, tt.value})); diff != "" {
				t.Errorf("drift (-want +got):\n%s", diff)
			}
			if d := observe(t, s, call{`5`, tt.value}); d != nil {
				t.Errorf("told twice: %v", d)
			}
		})
	}
}

// A shape that depends on a query is not drift.
func TestQueriesAreNoDrift(t *testing.T) {
	for _, key := range []string{"sql", "query", "cypher", "q", "search", "pipeline", "statement"} {
		s := open(t, t.TempDir())
		var calls []call
		for i, row := range []string{`{"id":1,"name":"x"}`, `{"id":2,"name":"y"}`, `{"id":3,"name":"z"}`, `{"total":5}`, `{"id":"a","day":"monday"}`, `{"id":1,"name":"x"}`, `{"name":7}`} {
			calls = append(calls, call{fmt.Sprintf(`{%q:"%d"}`, key, i), `{"rows":[` + row + `]}`})
		}
		d := observe(t, s, calls...)
		if len(d) > 0 {
			t.Errorf("%s: %q", key, d)
		}
	}
}

// No value of the data, and no key that might be data, is in any file.
func TestNothingOfTheDataIsStored(t *testing.T) {
	dir := t.TempDir()
	types, err := sqlite.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := New(types, nil)
	observe(t, s,
		call{`{"q":"secretargument"}`, `{"rows":[{"name":"secretvalue","secretkey":1}],"byUser":{"secretuser":1}}`},
		call{`{"q":"other"}`, `{"rows":[{"name":"secretvalue2"}],"byUser":{"seldom":1,"secret user":2}}`})
	if err := errors.Join(s.Close(), types.Close()); err != nil {
		t.Fatal(err)
	}
	var all []byte
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	if !bytes.Contains(all, []byte(`"byUser"`)) {
		t.Error("the field byUser was not stored")
	}
	all = bytes.ReplaceAll(all, []byte("secret BLOB"), nil) // a column of the table of keys
	if i := bytes.Index(all, []byte("secret")); i >= 0 {
		t.Errorf("data was stored: …%q…", all[max(0, i-20):i+20])
	}
}

func TestTypesSurviveAndTwoProcessesShareThem(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	// Both learn before either has written.
	observe(t, a, call{`1`, `{"id":1}`})
	observe(t, b, call{`2`, `{"id":1}`})
	for _, s := range []*Store{a, b, a} {
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	c := open(t, dir)
	typ, ok := c.Type("srv", "tool")
	if want := `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`; !ok || typ.Calls != 2 || string(typ.Schema) != want {
		t.Errorf("type = %d %s, want 2 %s", typ.Calls, typ.Schema, want)
	}
	if n, err := c.Reset("srv", ""); n != 1 || err != nil {
		t.Errorf("Reset = %d, %v", n, err)
	}
	if _, ok := open(t, dir).Type("srv", "tool"); ok {
		t.Error("the type is there after Reset")
	}
	// What the other process learned before the reset does not come back.
	observe(t, b, call{`3`, `{"other":1}`})
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	if list, err := open(t, dir).List(); err != nil || len(list) != 1 || list[0].Calls != 1 {
		t.Errorf("after reset and one call: %+v, %v", list, err)
	}
}

func TestManyStoresWriteAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	const stores, each = 4, 20
	for i := range stores {
		wg.Go(func() {
			s := New(record(t, dir), nil)
			for j := range each {
				s.Observe("srv", "tool", json.RawMessage(fmt.Sprint(i*each+j)), json.RawMessage(`{"id":1}`))
				if err := s.Flush(); err != nil {
					t.Errorf("Flush: %v", err)
				}
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
	if typ, ok := open(t, dir).Type("srv", "tool"); !ok || typ.Calls != stores*each {
		t.Errorf("calls = %d, want %d", typ.Calls, stores*each)
	}
}

func TestLargeResultsAreLearnedInTheBackground(t *testing.T) {
	dir := t.TempDir()
	s := New(record(t, dir), nil)
	for i := range 2 {
		var b strings.Builder
		b.WriteString(`{"items":[`)
		for j := range 5000 {
			fmt.Fprintf(&b, `%s{"id":%d,"title":"row %d"}`, strings.Repeat(",", min(j, 1)), j, j)
		}
		b.WriteString(`]}`)
		s.Observe("srv", "tool", json.RawMessage(fmt.Sprint(i)), json.RawMessage(b.String()))
		s.background.Wait()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	typ, ok := open(t, dir).Type("srv", "tool")
	want := `{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"title":{"type":"string"}},"required":["id","title"]}}},"required":["items"]}`
	if !ok || string(typ.Schema) != want {
		t.Errorf("schema\n got %s\nwant %s", typ.Schema, want)
	}
}

func TestHasUse(t *testing.T) {
	for schema, want := range map[string]bool{
		``: false, `{}`: false, `{"type":"object"}`: false, `true`: false, `{"type":"array"}`: false,
		`{"type":"object","properties":{}}`: false, `{"type":"object","additionalProperties":true}`: false,
		`{"type":"object","additionalProperties":{"type":"string"}}`: true,
		`{"type":"object","properties":{"a":{}}}`:                    true, `{"$ref":"#/$defs/a"}`: true,
		`{"type":"string"}`: true, `{"type":"array","items":{"type":"string"}}`: true,
	} {
		if got := HasUse(json.RawMessage(schema)); got != want {
			t.Errorf("HasUse(%s) = %v", schema, got)
		}
	}
}

// Whatever JSON comes, learning ends, and the schema is JSON.
func FuzzObserve(f *testing.F) {
	for _, seed := range []string{`{}`, `[1,2.5,"x",null,{"a":[{}]}]`, `{"a":{"b":{"c":[[[[[1]]]]]}}}`, `"\ud800"`, `{"\"":1,"":2}`, `-0.1e5`, ` [ { } , [ ] ] `} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		if !json.Valid([]byte(one)) || !json.Valid([]byte(two)) {
			return
		}
		var n learnedTool
		for i, v := range []string{one, two, one} {
			smp, err := take([]byte(v))
			if err != nil {
				t.Fatalf("take(%s): %v", v, err)
			}
			drift(&n.Root, smp, merger{hash: hasher("k")})
			n.merge(hasher("k"), queued{args: digest{byte(i)}, s: smp})
		}
		if s := n.Root.schema(0); !json.Valid([]byte(s)) {
			t.Errorf("schema of %s and %s: %s", one, two, s)
		}
	})
}

// A result of 10 kB beside the check of its syntax, which every result gets.
func BenchmarkObserve(b *testing.B) {
	var v strings.Builder
	v.WriteString(`{"total":60,"items":[`)
	for j := range 60 {
		fmt.Fprintf(&v, `%s{"id":%d,"title":"the title of row %d","createdAt":"2026-01-02T03:04:05Z","url":"https://example.org/items/%d","open":true,"user":{"login":"someone","id":%d}}`, strings.Repeat(",", min(j, 1)), j, j, j, j)
	}
	v.WriteString(`]}`)
	value := json.RawMessage(v.String())
	b.Run("valid", func(b *testing.B) {
		b.SetBytes(int64(len(value)))
		for b.Loop() {
			if !json.Valid(value) {
				b.Fatal("not valid")
			}
		}
	})
	b.Run("observe", func(b *testing.B) {
		s := New(record(b, b.TempDir()), nil)
		b.SetBytes(int64(len(value)))
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			i++
			s.Observe("srv", "tool", json.RawMessage(fmt.Sprintf(`{"page":%d}`, i)), value)
		}
	})
}

// State directories hold this form: one that an older version wrote stays readable.
func TestStoredFormStays(t *testing.T) {
	const stored = `{"k":[1,0,0,0,0,2,3],"o":{"n":3,"c":2,"p":[{"name":"at","n":3,"t":{"k":[0,0,0,0,3,0,0],"f":1}}],` +
		`"q":{"00ff":{"a":"0a","i":4,"n":1,"t":{"k":[0,0,1,0,0,0,0]}}}},"e":{"k":[0,0,0,2,0,0,0]}}`
	var n node
	if err := json.Unmarshal([]byte(stored), &n); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(n)
	if string(got) != stored || err != nil {
		t.Errorf("%s\nis written back as\n%s, %v", stored, got, err)
	}
}

// A field that was not requested is not drift.
func TestFieldsThatWereNotAskedForAreNoDrift(t *testing.T) {
	const full, brief = `{"id":1,"title":"a","body":"b"}`, `{"id":1}`
	for _, tt := range []struct {
		name, before, now string
		drift             bool
	}{
		{"the same parameters", `{"id":%d}`, `{"id":9}`, true},
		{"another parameter", `{"id":%d}`, `{"id":9,"fields":["id"]}`, false},
		{"a parameter less", `{"id":%d,"expand":"body"}`, `{"id":9}`, false},
		{"other fields", `{"id":%d,"fields":["id","title","body"]}`, `{"id":9,"fields":["id"]}`, false},
		{"the same fields", `{"id":%d,"fields":["id","title","body"]}`, `{"fields":["id","title","body"],"id":9}`, true},
		{"another detail", `{"id":%d,"detail":"full"}`, `{"id":9,"detail":"brief"}`, false},
		{"another action", `{"id":%d,"action":"get"}`, `{"id":9,"action":"touch"}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, t.TempDir())
			for i := range 3 {
				observe(t, s, call{fmt.Sprintf(tt.before, i), full})
			}
			if found := observe(t, s, call{tt.now, brief}); (len(found) > 0) != tt.drift {
				t.Errorf("drift %q, want some: %v", found, tt.drift)
			}
		})
	}
}
