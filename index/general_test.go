package index

import (
	"slices"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

var generalTools = []discovery.ListedTool{
	{Name: "web_search", Description: "Search the web and return results."},
	{Name: "fetch_page", Description: "Fetch a URL and return its text."},
	{Name: "search_wikipedia", Description: "Search Wikipedia for articles."},
}

func TestGeneralToolsAreOfferedWhereNothingExplainsTheQuestion(t *testing.T) {
	x := newIndex(t, catalog(append([]discovery.ListedTool{
		{Name: "list_invoices", Description: "List invoices of a customer."}, {Name: "create_chart", Description: "Create a chart."},
	}, generalTools...)...))
	for _, q := range []string{"latest developments in zirconium metallurgy", "who won the olympics decathlon", "research quokka habitats", "what is a hydrofoil"} {
		h, err := x.Search(t.Context(), Query{Text: q, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(h.Hits, func(h Hit) bool { return h.ID == "git_hub__web_search" })
		if i < 0 || i > 4 || !h.Hits[i].General {
			t.Errorf("Search(%q) = %+v, want the web search among the first five", q, h.Hits)
		}
	}
}

func TestGeneralToolsNeverComeAboveSpecificOnes(t *testing.T) {
	x := newIndex(t, catalog(append([]discovery.ListedTool{
		{Name: "search_invoices", Description: "Search invoices by their number."}, {Name: "get_weather", Description: "The weather of a city."},
		{Name: "find_flights", Description: "Find flights between airports."},
	}, generalTools...)...))
	for q, want := range map[string]string{
		"search invoices": "git_hub__search_invoices", "what is the weather in Paris": "git_hub__get_weather", "find cheap flights from Vienna to Oslo on Friday": "git_hub__find_flights",
	} {
		if got := ids(t, x, Query{Text: q}); len(got) == 0 || got[0] != want {
			t.Errorf("Search(%q) = %v, want %s first", q, got, want)
		}
	}
	for _, q := range []string{"zzzz", "create a chart", "delete quokka"} { // no question
		h, err := x.Search(t.Context(), Query{Text: q, Explain: true})
		if err != nil || slices.ContainsFunc(h.Hits, func(h Hit) bool { return h.General }) {
			t.Errorf("Search(%q) = %+v, %v", q, h.Hits, err)
		}
	}
}
