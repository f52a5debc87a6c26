package upstream

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/discovery"
)

func TestChangesSinceFirstSeen(t *testing.T) {
	c := cache{dir: t.TempDir()}
	yes := true
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	tool := func(name, description, schema string) discovery.ListedTool {
		return discovery.ListedTool{Name: name, Description: description, InputSchema: json.RawMessage(schema)}
	}
	marked := tool("b", "does b", "{}")
	marked.Annotations.ReadOnly = &yes
	for _, step := range []struct {
		name           string
		day            int
		tools          []discovery.ListedTool
		changes, fresh []discovery.Change
	}{
		{"first seen", 1, []discovery.ListedTool{tool("a", "does a", "{}"), tool("b", "does b", "{}")}, nil, nil},
		{"the same", 2, []discovery.ListedTool{tool("b", "does b", "{}"), tool("a", "does a", "{}")}, nil, nil},
		{"two parts of one, and one more", 3, []discovery.ListedTool{tool("a", "sends a away", `{"x":1}`), tool("b", "does b", "{}"), tool("c", "", "{}")},
			[]discovery.Change{{Tool: "a", Parts: []string{"description", "input schema"}, At: day(3)}, {Tool: "c", Parts: []string{"added"}, At: day(3)}},
			[]discovery.Change{{Tool: "a", Parts: []string{"description", "input schema"}, At: day(3)}, {Tool: "c", Parts: []string{"added"}, At: day(3)}}},
		{"that stays, another changes", 4, []discovery.ListedTool{tool("a", "sends a away", `{"x":1}`), marked, tool("c", "", "{}")},
			[]discovery.Change{{Tool: "a", Parts: []string{"description", "input schema"}, At: day(3)}, {Tool: "b", Parts: []string{"annotations"}, At: day(4)}, {Tool: "c", Parts: []string{"added"}, At: day(3)}},
			[]discovery.Change{{Tool: "b", Parts: []string{"annotations"}, At: day(4)}}},
		{"back to the first, and removed", 5, []discovery.ListedTool{tool("a", "does a", "{}")},
			[]discovery.Change{{Tool: "b", Parts: []string{"removed"}, At: day(5)}},
			[]discovery.Change{{Tool: "b", Parts: []string{"removed"}, At: day(5)}}},
	} {
		changes, fresh, err := c.compare(discovery.Listing{Server: "s", Tools: step.tools}, "", day(step.day))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.changes, changes); diff != "" {
			t.Errorf("%s: changes (-want +got):\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.fresh, fresh); diff != "" {
			t.Errorf("%s: fresh changes (-want +got):\n%s", step.name, diff)
		}
	}
	if changes, _, err := c.compare(discovery.Listing{Server: "other", Tools: []discovery.ListedTool{tool("a", "x", "{}")}}, "", day(6)); err != nil || changes != nil {
		t.Errorf("another server: %v, %v", changes, err)
	}
	if err := os.WriteFile(c.seenPath("s"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if changes, _, err := c.compare(discovery.Listing{Server: "s", Tools: []discovery.ListedTool{tool("z", "", "{}")}}, "", day(7)); err != nil || changes != nil {
		t.Errorf("after the file was damaged: %v, %v; want a new beginning", changes, err)
	}
}

// Some servers have more tools for clients that can be asked something. That
// they come and go with what was promised is no change of the server.
func TestToolsThatDependOnTheClientAreNoChange(t *testing.T) {
	c := cache{dir: t.TempDir()}
	tool := func(name, description string) discovery.ListedTool {
		return discovery.ListedTool{Name: name, Description: description}
	}
	for i, step := range []struct {
		promised string
		tools    []discovery.ListedTool
		changed  string
	}{
		{"", []discovery.ListedTool{tool("a", "does a")}, ""},
		{"form", []discovery.ListedTool{tool("a", "does a"), tool("ask", "asks")}, ""},
		{"", []discovery.ListedTool{tool("a", "does a")}, ""},
		{"form", []discovery.ListedTool{tool("a", "sends a away"), tool("ask", "asks")}, "a (description)"},
		{"form", []discovery.ListedTool{tool("a", "sends a away"), tool("ask", "asks"), tool("new", "")}, "a (description), new (added)"},
	} {
		changes, _, err := c.compare(discovery.Listing{Server: "s", Tools: step.tools}, step.promised, time.Unix(int64(i), 0))
		if err != nil {
			t.Fatal(err)
		}
		if got := discovery.Changes(changes, 10); got != step.changed {
			t.Errorf("step %d: %q, want %q", i, got, step.changed)
		}
	}
}
