package index

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextsAreReadOnceAndFoundWithAFragment(t *testing.T) {
	asked := 0
	text := strings.Repeat("Nothing of note here. ", 300) + "The invoices\n\tof a customer are listed by month. " + strings.Repeat("Nor here. ", 300)
	entry := Entry{ID: "a", Kind: "file", Stamp: "1", Text: func() string { asked++; return text }}
	dir := t.TempDir()
	var x *Index
	for range 2 { // the second time it is known
		if x != nil {
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
		}
		x = openIndex(t, &Options{Dir: dir}, catalog(issues...), entry, Entry{ID: "b", Kind: "file", Text: func() string { return "Invoices?" }})
	}
	if asked != 1 {
		t.Errorf("the text was read %d times", asked)
	}
	q := "listing customer invoices"
	h, err := x.Search(t.Context(), Query{Text: q})
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]float64{}
	for _, hit := range h.Hits {
		held[hit.ID] = hit.Held
	}
	if held["a"] != 1 || held["b"] < .3 || held["b"] > .4 {
		t.Errorf("shares of the query are %v", held)
	}
	if got, want := x.Fragment(q, text, 80), "…The invoices of a customer are listed by month. Nor here. Nor…"; got != want {
		t.Errorf("Fragment = %q, want %q", got, want)
	}
	text, entry.Stamp = "Elephants.", "2"
	syncWith(t, x, catalog(issues...), entry)
	if got := ids(t, x, Query{Text: "elephant"}); len(got) != 1 || asked != 2 {
		t.Errorf("a new stamp finds %v after %d readings", got, asked)
	}
}

func FuzzFragment(f *testing.F) {
	f.Add("list the issues of a repository, and then some", "list issues", 40)
	f.Add("\xff\xfeissues", "issues", 9)
	f.Add("火车票 issues メール", "issues", 20)
	x := newIndex(f, catalog(issues...))
	f.Fuzz(func(t *testing.T, text, query string, most int) {
		if got := x.Fragment(query, text, most); len(got) > max(0, most) || !utf8.ValidString(got) {
			t.Errorf("Fragment(%q, %q, %d) = %q, %d bytes", query, text, most, got, len(got))
		}
	})
}

// A query may have a word of which nothing is left, and so may a text.
func TestWordsWithoutAShapeAreNoWords(t *testing.T) {
	const empty = "z\u3164\u200b \u3164 \u200d\u0301 z"
	x := openIndex(t, nil, catalog(issues...), Entry{ID: "a", Kind: "file", Text: func() string { return empty + " invoices" }})
	for _, q := range []string{empty, empty + " invoices", "z\a\x1b[31m\x7f\u0085\u009b\u00ad\u061c\u200b\u200d\u200f\u202e\u2028\u2060\u2066\ufeff\u3164\u180b\ufe01\U000e0041\U000e0100"} {
		if _, err := x.Search(t.Context(), Query{Text: q}); err != nil {
			t.Errorf("Search(%+q): %v", q, err)
		}
		x.Fragment(q, empty+" invoices", 80)
	}
}
