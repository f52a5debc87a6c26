package index

import (
	"path/filepath"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/evaluate"
)

func TestRelatedWordsFindTools(t *testing.T) {
	x := newIndex(t, catalog(
		discovery.ListedTool{Name: "restaurant_offers", Description: "Offers of restaurants."},
		discovery.ListedTool{Name: "bitcoin_price", Description: "The price of bitcoin."},
		discovery.ListedTool{Name: "truck_position", Description: "Where a truck is."},
		discovery.ListedTool{Name: "film_size", Description: "The size of a film."},
		discovery.ListedTool{Name: "plant_tree", Description: "Plant a tree."},
	))
	for query, want := range map[string]string{
		"cafe": "git_hub__restaurant_offers", "ethereum": "git_hub__bitcoin_price",
		"vehicle": "git_hub__truck_position", "scene": "git_hub__film_size",
	} {
		h, err := x.Search(t.Context(), Query{Text: query, Explain: true})
		if err != nil || len(h.Hits) == 0 || h.Hits[0].ID != want {
			t.Errorf("Search(%q) = %+v, %v, want %s first", query, h.Hits, err, want)
			continue
		}
		if m := h.Hits[0].Words; len(m) != 1 || m[0].Word != query || !m[0].Related {
			t.Errorf("Search(%q): explained by %+v, want one related word", query, m)
		}
		if len(h.Replaced) != 1 || h.Replaced[0].From != query {
			t.Errorf("Search(%q): replaced %v", query, h.Replaced)
		}
	}
}

func TestToolsWithTheWordComeBeforeRelatedOnes(t *testing.T) {
	x := newIndex(t, catalog(
		discovery.ListedTool{Name: "truck_position"}, discovery.ListedTool{Name: "a_note", Description: "About a vehicle, among other things that one may note."},
		discovery.ListedTool{Name: "hotel_offers"}, discovery.ListedTool{Name: "rooms", Description: "Lists rooms, and lodging, of the city and the country around it."},
	))
	for query, want := range map[string]string{"vehicle": "git_hub__a_note", "lodging": "git_hub__rooms"} {
		if got := ids(t, x, Query{Text: query}); len(got) < 2 || got[0] != want {
			t.Errorf("Search(%q) = %v, want %s first", query, got, want)
		}
	}
}

// The table in the program is whole: every record can be read, and each word is related
// to words of the table other than itself.
func TestRelatedTableIsWhole(t *testing.T) {
	r := relatedWords()
	if r.Len() < 10_000 || len(relatedFile) > 1_500_000 {
		t.Errorf("%d words in %d bytes", r.Len(), len(relatedFile))
	}
	n := 0
	for stem := range r.Stems() {
		last := 2.0
		for w := range r.Of(stem) {
			if w.Stem == stem || w.Word == "" || w.Weight > last || !r.Knows(w.Stem) {
				t.Fatalf("%s is related to %+v", stem, w)
			}
			last = w.Weight
			n++
		}
	}
	if n < 50_000 {
		t.Errorf("%d pairs of related words", n)
	}
}

// Related and everyday words must raise the share of paraphrases that are found and lower
// nothing else; the floors of TestRankingOfRecordedQueries hold the rest.
func TestParaphrasesOfRecordedTools(t *testing.T) {
	needRetrieval(t)
	c := loadTools(t, filepath.Join(retrieval, "tools_core.jsonl"))
	search := searcher(newIndex(t, c), c)
	for file, floor := range map[string]struct{ hit5, hit15 float64 }{
		"paraphrase-core.jsonl":  {.6, .69},
		"paraphrase-apart.jsonl": {.6, .75}, // written without looking at the tables
	} {
		r, err := evaluate.Run(t.Context(), loadQueries(t, "testdata/"+file), search)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: hit@1 %.3f, @5 %.3f, @15 %.3f", file, r.All.Hit1, r.All.Hit5, r.All.Hit15)
		if r.All.Hit5 < floor.hit5 || r.All.Hit15 < floor.hit15 {
			t.Errorf("%s: hit@5 %.3f, hit@15 %.3f, want %.3f and %.3f", file, r.All.Hit5, r.All.Hit15, floor.hit5, floor.hit15)
		}
	}
}
