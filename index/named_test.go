package index

import (
	"slices"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

func TestSeveralNamesInOneQuery(t *testing.T) {
	tools := func(names ...string) (list []discovery.ListedTool) {
		for _, n := range names {
			list = append(list, discovery.ListedTool{Name: n, Description: "Works on issues, pages, files and messages."})
		}
		return list
	}
	x := newIndex(t, discovery.NewCatalog([]discovery.Listing{
		{Server: "hub", Tools: tools("create_issue", "list_issues", "getPullRequest", "search")},
		{Server: "files", Tools: tools("read-file", "search", "fetch")},
		{Server: "chat", Tools: tools("отправить_письмо", "список_чатов")},
		{Server: "other", Tools: tools("list_issue_types", "create_issue_link", "pull_requests_list", "read_file_list", "send_chat")},
	}))
	for _, c := range []struct {
		query string
		first []string
	}{
		{"list_issues create_issue", []string{"hub__list_issues", "hub__create_issue"}},
		{"create_issue, list_issues, read-file", []string{"hub__create_issue", "hub__list_issues", "files__read-file"}},
		{"hub__list_issues and files__fetch", []string{"hub__list_issues", "files__fetch"}},
		{"hub.list_issues hub/create_issue hub:getPullRequest", []string{"hub__list_issues", "hub__create_issue", "hub__getPullRequest"}},
		{"`getPullRequest` \"read_file\"", []string{"hub__getPullRequest", "files__read-file"}},
		{"select:files__fetch,hub__create_issue", []string{"files__fetch", "hub__create_issue"}},
		{"fetch search list_issues", []string{"files__fetch", "files__search", "hub__search", "hub__list_issues"}},
		{"please call createIssue for the bug", []string{"hub__create_issue"}},
		{"отправить_письмо список_чатов", []string{"chat__отправить_письмо", "chat__список_чатов"}},
		{"list_issues\nlist_issues\ncreate_issue", []string{"hub__list_issues", "hub__create_issue"}},
	} {
		h, err := x.Search(t.Context(), Query{Text: c.query})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, hit := range h.Hits[:min(len(c.first), len(h.Hits))] {
			got = append(got, hit.ID)
		}
		if !slices.Equal(got, c.first) || h.Named != len(c.first) {
			t.Errorf("Search(%q) begins with %q, %d of them named; want %q", c.query, got, h.Named, c.first)
		}
	}
	for _, query := range []string{"fetch the search of a page", "search, files", "read/write files", "follow-up on issues", "search pages and fetch"} {
		if h, err := x.Search(t.Context(), Query{Text: query}); err != nil || h.Named != 0 {
			t.Errorf("Search(%q) takes words for names: %+v, %v", query, h, err)
		}
	}
}

// A word that no tool uses may match by its synonyms, and the answer says so.
func TestSynonymsThatReplaceAWord(t *testing.T) {
	x := newIndex(t, catalog(
		discovery.ListedTool{Name: "remove_file", Description: "Remove a file."},
		discovery.ListedTool{Name: "find_picture", Description: "Find a picture."},
	))
	for _, c := range []struct{ query, from, to string }{
		{"erase the file", "erase", "remove"}, {"Deleting a file", "Deleting", "remove"}, {"look up an image", "image", "picture"},
	} {
		h, err := x.Search(t.Context(), Query{Text: c.query})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(h.Replaced, func(r Replacement) bool { return r.From == c.from && slices.Contains(r.To, c.to) }) {
			t.Errorf("Search(%q).Replaced = %v, want %s for %s", c.query, h.Replaced, c.to, c.from)
		}
	}
	if h, err := x.Search(t.Context(), Query{Text: "removes files"}); err != nil || len(h.Replaced) > 0 {
		t.Errorf("forms of a word are no synonyms: %+v, %v", h, err)
	}
}
