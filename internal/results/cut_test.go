package results_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/results"
	"github.com/mcpbroker/mcpbroker/state"
)

func repeat(n int, item string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ReplaceAll(item, "#", fmt.Sprint(i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func manyKeys(n int, value string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"k%d":%s`, i, value)
	}
	return "{" + strings.Join(list, ",") + "}"
}

// A cut value is JSON of the same kind within its limit, and each gap leads to the
// missing part.
func TestCutStaysJSON(t *testing.T) {
	row := `{"id":#,"title":"row #"}`
	lines, _ := json.Marshal(strings.Repeat("a line of text\n", 500))
	long, _ := json.Marshal(strings.Repeat("é", 5000))
	for name, tt := range map[string]struct {
		value string
		kind  byte
		gaps  []string // as "unit path"
	}{
		"a list":                       {repeat(1240, row), '[', []string{"items "}},
		"a list in an object":          {`{"total":1240,"items":` + repeat(1240, row) + `,"next":"x"}`, '{', []string{"items items"}},
		"two lists":                    {`{"a":` + repeat(500, row) + `,"b.c":` + repeat(500, row) + `}`, '{', []string{"items a", "items /b.c"}},
		"a list in a list":             {`[` + repeat(900, row) + `]`, '[', []string{"items [0]"}},
		"a long first item":            {`["` + strings.Repeat("x", 5000) + `",1,2,3]`, '[', []string{"characters [0]"}},
		"many keys":                    {manyKeys(2000, "1"), '{', []string{"keys "}},
		"many keys and some are long":  {manyKeys(300, `"`+strings.Repeat("y", 300)+`"`), '{', []string{"keys "}},
		"lines":                        {string(lines), '"', []string{"characters "}},
		"one long line":                {string(long), '"', []string{"characters "}},
		"lines in a field":             {`{"path":"a.txt","text":` + string(lines) + `}`, '{', []string{"characters text"}},
		"deep":                         {`{"a":{"b":{"c":{"d":{"e":` + repeat(900, row) + `}}}}}`, '{', []string{"characters a.b.c.d"}},
		"numbers beyond 2^53":          {repeat(900, "20479486147428392#"), '[', []string{"items "}},
		"a list of texts with escapes": {repeat(300, `"\"\\\n é #"`), '[', []string{"items "}},
	} {
		for _, limit := range []int{600, 1000, 3000} {
			var gaps []results.Gap
			mark := func(g results.Gap) string {
				gaps = append(gaps, g)
				return fmt.Sprintf("… [%d of %d %s at %s; results.get('r_0123456789')] …", g.Missing, g.All, g.Unit, g.Part.Path)
			}
			cut, ok := results.Cut(json.RawMessage(tt.value), limit, mark)
			if utf8.RuneCountInString(tt.value) <= limit {
				continue
			}
			if n := utf8.RuneCount(cut); !ok || n > limit || n < limit/4 || !json.Valid(cut) || cut[0] != tt.kind {
				t.Errorf("%s in %d: %d characters, %v: %.300s", name, limit, n, ok, cut)
				continue
			}
			for _, want := range tt.gaps {
				found := false
				for _, g := range gaps {
					found = found || g.Unit+" "+g.Part.Path == want && g.Missing > 0 && g.Missing <= g.All
				}
				if !found {
					t.Errorf("%s in %d: gaps %+v, want %q", name, limit, gaps, want)
				}
			}
			checkItems(t, name, tt.value, cut)
		}
	}
}

// checkItems compares the items of a list, and the items that its gap leads to, with
// the full list.
func checkItems(t *testing.T, name, value string, cut json.RawMessage) {
	t.Helper()
	var whole, shown []json.RawMessage
	if json.Unmarshal([]byte(value), &whole) != nil || json.Unmarshal(cut, &shown) != nil || len(whole) < 10 {
		return
	}
	for i, item := range shown {
		var note string
		if json.Unmarshal(item, &note) != nil || !strings.HasPrefix(note, "… [") {
			if i == 0 && string(item) != string(whole[0]) {
				t.Errorf("%s: the first item is %s", name, item)
			}
			continue
		}
		var missing, all int
		if _, err := fmt.Sscanf(note, "… [%d of %d items", &missing, &all); err != nil || all != len(whole) || missing != len(whole)-len(shown)+1 {
			t.Errorf("%s: %d of %d items are shown, and the note is %s", name, len(shown)-1, len(whole), note)
		}
		got, err := results.Slice(state.Result{MIME: state.JSON, Bytes: int64(len(value))}, []byte(value), results.Part{Offset: i, Limit: missing})
		var rest []json.RawMessage
		if err != nil || json.Unmarshal(got, &rest) != nil || len(rest) != missing || string(rest[0]) != string(whole[i]) {
			t.Errorf("%s: what is missing is %.100s, %v", name, got, err)
		}
	}
}

func TestCutKeepsWholeLines(t *testing.T) {
	var text strings.Builder
	for i := range 400 {
		text.WriteString(fmt.Sprintf("line %d of the file\n", i))
	}
	head, tail, missing := results.Ends(text.String(), 1000)
	if !strings.HasSuffix(head, "\n") || !strings.HasPrefix(tail, "\nline ") || !strings.HasSuffix(tail, "line 399 of the file\n") || int(missing) != len(text.String())-len(head)-len(tail) {
		t.Errorf("%q … %q, %d missing", head[len(head)-30:], tail[:30], missing)
	}
	if len(head)+len(tail) > 1000 || len(head)+len(tail) < 900 {
		t.Errorf("%d characters, want nearly 1000", len(head)+len(tail))
	}
	// Words stay whole too, such as addresses that must be hidden.
	head, tail, _ = results.Ends(strings.Repeat("kim@example.com ", 500), 1000)
	if strings.ReplaceAll(head+tail, "kim@example.com", "") != strings.Repeat(" ", strings.Count(head+tail, " ")) {
		t.Errorf("a word is cut: %q … %q", head[len(head)-30:], tail[:30])
	}
	for _, text := range []string{strings.Repeat("x", 5000), "short\n" + strings.Repeat("x", 5000), strings.Repeat("x", 5000) + "\nshort", strings.Repeat("漢", 5000)} {
		head, tail, missing := results.Ends(text, 1000)
		if n := utf8.RuneCountInString(head + tail); n < 980 || n > 1000 || !utf8.ValidString(head+tail) || int(missing)+n != utf8.RuneCountInString(text) {
			t.Errorf("%.10q: %d characters, %d missing", text, n, missing)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add(`{"a":[1,2,3],"b":"text"}`, 10)
	f.Add(repeat(100, `{"#":"\n"}`), 300)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if !json.Valid([]byte(text)) || limit < 0 || limit > 1<<16 {
			return
		}
		cut, ok := results.Cut(json.RawMessage(text), limit, func(g results.Gap) string { return fmt.Sprint("… ", g) })
		if ok && (!json.Valid(cut) || utf8.RuneCount(cut) > limit) {
			t.Errorf("%q in %d: %q", text, limit, cut)
		}
	})
}

func BenchmarkCut(b *testing.B) {
	value := json.RawMessage(`{"items":` + repeat(100_000, `{"id":#,"title":"row #"}`) + `}`)
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := results.Cut(value, 10_000, func(results.Gap) string { return "…" }); !ok {
			b.Fatal("not cut")
		}
	}
}
