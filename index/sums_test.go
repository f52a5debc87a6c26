package index

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A query to add numbers finds the tool that sums, and one to add a thing the tool
// that adds it.
func TestAddingNumbersIsASum(t *testing.T) {
	x := newIndex(t, catalog(
		discovery.ListedTool{Name: "add_observations", Description: "Add observations to entities of the graph."},
		discovery.ListedTool{Name: "add_member", Description: "Add a member to a team."},
		discovery.ListedTool{Name: "get-sum", Description: "Returns the sum of two numbers."},
		discovery.ListedTool{Name: "create_entities", Description: "Create entities."},
		discovery.ListedTool{Name: "list_numbers", Description: "List the phone numbers of an account."},
	))
	for query, want := range map[string]string{
		"add numbers":            "get-sum",
		"add two numbers":        "get-sum",
		"sum of numbers":         "get-sum",
		"plus of two numbers":    "get-sum",
		"add an observation":     "add_observations",
		"add a member":           "add_member",
		"list the phone numbers": "list_numbers",
	} {
		h, err := x.Search(t.Context(), Query{Text: query})
		if err != nil || len(h.Hits) == 0 {
			t.Fatal(h, err)
		}
		if tool, _ := x.catalog.Tool(h.Hits[0].ID); tool.Name != want {
			t.Errorf("%q finds %s first, want %s", query, tool.Name, want)
		}
	}
}
