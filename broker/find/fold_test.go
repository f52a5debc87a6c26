package find

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/index"
)

func toolOf(server, name, description, schema string) result {
	return result{tool: &discovery.Tool{ID: server + "__" + name, Server: server,
		ListedTool: discovery.ListedTool{Name: name, Description: description, InputSchema: []byte(schema)}}}
}

// Equal tools of several servers take one place, that of the best. Tools that differ in
// what they do or take keep their own.
func TestEqualToolsTakeOnePlace(t *testing.T) {
	const issue = `{"type":"object","properties":{"repo":{"type":"string"}},"required":["repo"]}`
	for name, tt := range map[string]struct {
		request SearchRequest
		query   string
		ranked  []result
		want    []string
	}{
		"two instances of one package": {
			ranked: []result{toolOf("work", "list", "List issues.", issue), toolOf("x", "list", "List files.", issue), toolOf("home", "list", "List issues.", issue)},
			want:   []string{"work__list also home__list", "x__list"},
		},
		"names in other styles, with the server's name": {
			ranked: []result{toolOf("gh", "list_issues", "List the issues of a repository.", issue), toolOf("hub", "listIssues", "List issues of a repository.", issue), toolOf("lab", "lab_list-issues", "List the issues of a repository", issue)},
			want:   []string{"gh__list_issues also hub__listIssues lab__lab_list-issues"},
		},
		"schemas that differ in words only": {
			ranked: []result{toolOf("a", "list", "List issues.", issue),
				toolOf("b", "list", "List issues.", `{"properties":{"repo":{"description":"its name","type":"string"}},"required":["repo"],"title":"x"}`)},
			want: []string{"a__list also b__list"},
		},
		"another parameter: side by side": {
			ranked: []result{toolOf("a", "list", "List issues.", issue), toolOf("c", "get", "Get.", issue), toolOf("b", "list", "List issues.", `{"properties":{"repo":{"type":"string"},"page":{"type":"number"}}}`)},
			want:   []string{"a__list", "b__list", "c__get"},
		},
		"another type, a parameter that may be left out": {
			ranked: []result{toolOf("a", "list", "List issues.", issue), toolOf("b", "list", "List issues.", `{"properties":{"repo":{"type":"number"}},"required":["repo"]}`), toolOf("c", "list", "List issues.", `{"properties":{"repo":{"type":"string"}}}`)},
			want:   []string{"a__list", "b__list", "c__list"},
		},
		"the same name for something else": {
			ranked: []result{toolOf("slack", "search", "Search messages of the workspace.", issue), toolOf("notion", "search", "Find pages by title.", issue)},
			want:   []string{"slack__search", "notion__search"},
		},
		"versions in names": {
			ranked: []result{toolOf("a", "list_v1", "List issues.", issue), toolOf("b", "list_v2", "List issues.", issue)},
			want:   []string{"a__list_v1", "b__list_v2"},
		},
		"two of one server": {
			ranked: []result{toolOf("a", "list_issues", "List issues.", issue), toolOf("a", "listIssues", "List issues.", issue)},
			want:   []string{"a__list_issues", "a__listIssues"},
		},
		"no descriptions": {
			ranked: []result{toolOf("x", "get", "", `{"a":1}`), toolOf("y", "get", "", `{"properties":{"b":{}}}`), toolOf("z", "get", "", `{"a":1}`)},
			want:   []string{"x__get also z__get", "y__get"},
		},
		"a query that names a server": {
			query:  "list issues on home",
			ranked: []result{toolOf("work", "list", "List issues.", issue), toolOf("home", "list", "List issues.", issue), toolOf("spare", "list", "List issues.", issue)},
			want:   []string{"work__list also spare__list", "home__list"},
		},
		"expanded": {
			request: SearchRequest{Expand: true},
			ranked:  []result{toolOf("work", "list", "List issues.", issue), {entry: &Entry{Entry: index.Entry{ID: "p", Kind: "prompt"}}}, toolOf("home", "list", "List issues.", issue)},
			want:    []string{"work__list", "home__list", "p"},
		},
	} {
		s := &search{f: &Finder{}, req: tt.request, lower: tt.query}
		var got []string
		for _, r := range s.fold(tt.ranked, 8) {
			var line strings.Builder
			line.WriteString(r.id())
			for i, o := range r.also {
				if i == 0 {
					line.WriteString(" also")
				}
				line.WriteString(" " + o.ID)
			}
			got = append(got, line.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// With many instances of one package, the first five places hold five different tools,
// an answer has as many as are asked for, and pages neither repeat nor omit one.
func TestInstancesShareTheirPlaces(t *testing.T) {
	var listings []discovery.Listing
	for i := range 12 {
		l := discovery.Listing{Server: fmt.Sprintf("board%c", 'a'+i)}
		for _, verb := range []string{"create", "list", "update", "close", "label", "assign", "move", "archive", "count", "export"} {
			l.Tools = append(l.Tools, discovery.ListedTool{Name: verb + "_card", Description: verb + " a card.", InputSchema: []byte(`{"type":"object","properties":{"card":{"type":"string"}}}`)})
		}
		listings = append(listings, l)
	}
	f := finderOf(t, listings...)
	seen := map[string]bool{}
	for _, offset := range []int{0, 5} {
		a, err := f.Search(t.Context(), SearchRequest{Query: "card", Limit: 5, Offset: offset})
		if err != nil || len(a.Tools) != 5 {
			t.Fatalf("%d hits, %v", len(a.Tools), err)
		}
		for _, h := range a.Tools {
			_, tool, _ := strings.Cut(h.Name, "__")
			if seen[tool] {
				t.Errorf("%s has two places", tool)
			}
			seen[tool] = true
			if len(h.Also) != maxAlso || h.AlsoMore != 11-maxAlso {
				t.Errorf("%s: also %v and %d more", h.Name, h.Also, h.AlsoMore)
			}
		}
		if !strings.Contains(a.Note, `"expand": true`) {
			t.Errorf("note %q", a.Note)
		}
	}
	for _, req := range []SearchRequest{{Query: "list card", Expand: true}, {Query: "list card", Server: "boardc"}, {Query: "boardc__list_card"}} {
		a, err := f.Search(t.Context(), req)
		if err != nil || len(a.Tools) == 0 || len(a.Tools[0].Also) > 0 {
			t.Errorf("%+v: %+v, %v", req, a.Tools[:1], err)
		}
	}
}
