package index

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

func TestNeedsOfAQuery(t *testing.T) {
	for text, want := range map[string]string{
		"find the invoice and mail it to Ana":                            "find the invoice|mail it to Ana",
		"Create a branch, edit the readme, then open a pull request":     "Create a branch|edit the readme|open a pull request",
		"list issues; close the oldest":                                  "list issues|close the oldest",
		"Get the weather of Oslo.\nBook a hotel there. Thanks!":          "Get the weather of Oslo|Book a hotel there",
		"I would like you to read the file and then summarize the text.": "I would like you to read the file|summarize the text",
		"Help me find Mr. Lu and send an email to Dr. Wu":                "Help me find Mr. Lu|send an email to Dr. Wu",
		// One need only.
		"search for files and directories":  "",
		"list and get issues":               "",
		"geocode address, search places":    "",
		"terms and conditions of a service": "",
		"":                                  "",
	} {
		if got := strings.Join(needsOf(text), "|"); got != want {
			t.Errorf("needsOf(%q) = %q, want %q", text, got, want)
		}
	}
	long := strings.Repeat("Delete the file and send the email. ", 5000)
	if n := len(needsOf(long)); n == 0 || n > maxNeeds {
		t.Errorf("%d needs of a long text", n)
	}
}

// Each need has its best hits before the rest of any.
func TestEachNeedGetsItsHits(t *testing.T) {
	var tools []discovery.ListedTool
	for _, n := range []string{"list_issues", "search_issues", "get_issue", "create_issue", "update_issue", "close_issue", "comment_issue", "label_issue", "assign_issue"} {
		tools = append(tools, discovery.ListedTool{Name: n, Description: "Issues of a repository."})
	}
	tools = append(tools, discovery.ListedTool{Name: "send_email", Description: "Send an email."}, discovery.ListedTool{Name: "create_chart", Description: "Draw a chart of numbers."},
		discovery.ListedTool{Name: "upload_file", Description: "Upload to storage."})
	x := newIndex(t, catalog(tools...))
	for q, want := range map[string][]string{
		"search the open issues of the repository and send an email":                       {"search_issues", "send_email"},
		"list issues of the repository, create a chart and then send an email":             {"list_issues", "create_chart", "send_email"},
		"Assign the issue to me. Upload a file to storage. Label the issue as a bug issue": {"assign_issue", "upload_file", "label_issue"},
	} {
		got := ids(t, x, Query{Text: q, Limit: 6})
		for _, w := range want {
			if i := slices.Index(got, "git_hub__"+w); i < 0 || i >= len(want) {
				t.Errorf("Search(%q) = %v, want %s among the first %d", q, got, w, len(want))
			}
		}
		h, err := x.Search(t.Context(), Query{Text: q, Limit: 20})
		if err != nil || !slices.IsSortedFunc(h.Hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) }) {
			t.Errorf("Search(%q): scores are not in order: %v", q, err)
		}
	}
}

func TestAServerThatIsNamedIsPreferred(t *testing.T) {
	send := []discovery.ListedTool{{Name: "send_message", Description: "Send a message."}}
	x := newIndex(t, discovery.NewCatalog([]discovery.Listing{{Server: "acme", Tools: send}, {Server: "mattermost", Tools: send}, {Server: "zulip-mcp", Tools: send}, {Server: "search", Tools: send}}))
	for q, want := range map[string]string{
		"send a message on zulip": "zulip_mcp__send_message", "mattermost message to the team, send it": "mattermost__send_message", "send the message via search": "search__send_message",
	} {
		if got := ids(t, x, Query{Text: q}); len(got) == 0 || got[0] != want {
			t.Errorf("Search(%q) = %v, want %s first", q, got, want)
		}
	}
}
