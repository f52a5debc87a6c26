package index

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A favored tool rises among hits that are about as good, never above one that is much
// better, and is no hit by itself.
func TestFavoredToolsRiseALittle(t *testing.T) {
	tool := func(name, description string) discovery.ListedTool {
		return discovery.ListedTool{Name: name, Description: description}
	}
	x := New(nil)
	defer x.Close()
	c := discovery.NewCatalog([]discovery.Listing{
		{Server: "hub", Tools: []discovery.ListedTool{tool("create_issue", "Create an issue."), tool("list_pods", "List pods."), tool("describe", "Mentions an issue in passing, among many other things that it says.")}},
		{Server: "lab", Tools: []discovery.ListedTool{tool("create_issue", "Create an issue.")}},
	})
	if err := x.Sync(c, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		favor map[string]float64
		want  string
		gain  float64
	}{
		{nil, "hub__create_issue lab__create_issue hub__describe", 0},
		{map[string]float64{"lab__create_issue": 0.5}, "lab__create_issue hub__create_issue hub__describe", 0.1},
		{map[string]float64{"lab__create_issue": 99}, "lab__create_issue hub__create_issue hub__describe", 0.2},
		{map[string]float64{"hub__describe": 1}, "hub__create_issue lab__create_issue hub__describe", 0},
		{map[string]float64{"hub__list_pods": 1, "gone__tool": 1, "": 1}, "hub__create_issue lab__create_issue hub__describe", 0},
		{map[string]float64{"lab__create_issue": -1}, "hub__create_issue lab__create_issue hub__describe", 0},
	} {
		found, err := x.Search(t.Context(), Query{Text: "create issue", Favor: c.favor, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, h := range found.Hits {
			ids = append(ids, h.ID)
		}
		if got := strings.Join(ids, " "); got != c.want || found.Hits[0].Favored != c.gain {
			t.Errorf("%v: %s, and the first gained %g; want %s and %g", c.favor, got, found.Hits[0].Favored, c.want, c.gain)
		}
	}
}

// Queries for the same have the same words, and few.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"Please create the issues!", []string{"creat", "issu"}},
		{"issue: creating", []string{"creat", "issu"}},
		{"", nil}, {"the of", nil}, {"😀 --", nil},
	} {
		if got := Words(c.query); !slices.Equal(got, c.want) {
			t.Errorf("Words(%q) = %q, want %q", c.query, got, c.want)
		}
	}
	if n := len(Words("创建问题")); n == 0 {
		t.Error("a Chinese query has no words")
	}
	if n := len(Words(strings.Repeat("alpha beta gamma ", 100_000) + strings.Repeat("x y z w ", 100))); n == 0 || n > maxWords {
		t.Errorf("a long query has %d words", n)
	}
}
