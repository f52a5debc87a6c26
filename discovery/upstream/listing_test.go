package upstream

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/listing"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

// listed returns the listing of a fake server.
func listed(t *testing.T, mode fakeupstream.Mode) discovery.Listing {
	t.Helper()
	p := newPool(t, nil, fake("s", mode))
	if st := p.Refresh(t.Context())[0]; st.Err != nil {
		t.Fatalf("status = %+v", st)
	}
	return p.Listings()[0]
}

func checkProblems(t *testing.T, l discovery.Listing, want ...string) {
	t.Helper()
	if len(l.Problems) != len(want) {
		t.Errorf("%d problems, want %d: %q", len(l.Problems), len(want), l.Problems)
	}
	all := strings.Join(l.Problems, "\n")
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("problems lack %q:\n%s", w, all)
		}
	}
}

func TestBadToolsCostOnlyThemselves(t *testing.T) {
	l := listed(t, fakeupstream.BadAnnotation)
	yes := true
	want := []discovery.ListedTool{
		{Name: "echo", Description: "Returns its arguments.", InputSchema: listing.AnyObject},
		{Name: "hints", InputSchema: listing.AnyObject, Annotations: discovery.Annotations{Idempotent: &yes}},
		{Name: "list", InputSchema: listing.AnyObject},
		{Name: "numbers", InputSchema: listing.AnyObject},
	}
	if diff := cmp.Diff(want, l.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	checkProblems(t, l, `readOnlyHint is "yes"`, `"list": annotations`, `"numbers": title`, `"numbers": description`, `it is "not a tool"`, "its name is 7")
}

func TestOddSchemasAreObjects(t *testing.T) {
	l := listed(t, fakeupstream.OddSchemas)
	got := make(map[string]string)
	for _, tool := range l.Tools {
		got[tool.Name] = string(tool.InputSchema)
	}
	object := string(listing.AnyObject)
	want := map[string]string{
		"echo": object, "missing": object, "null": object, "empty": object, "boolean": object, "string": object,
		"ref":   `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`,
		"oneof": `{"oneOf":[{"type":"object"}]}`,
		"order": `{"type":"object","properties":{"z":{"maximum":9007199254740993},"a":{}}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schemas (-want +got):\n%s", diff)
	}
	checkProblems(t, l, `"missing"`, `"null"`, `"boolean"`, `"string"`)
}

func TestOddNamesAreVerbatimOrLeftOut(t *testing.T) {
	l := listed(t, fakeupstream.OddNames)
	var names []string
	for _, tool := range l.Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"echo", "get.a b/c", "Größe", "delete"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	checkProblems(t, l, `"echo" is listed twice`, `its name is ""`, "its name is missing", "invisible characters")
}

func TestInvisibleCharactersAreTakenOut(t *testing.T) {
	l := listed(t, fakeupstream.Hidden)
	tool := l.Tools[1]
	got := []string{l.Instructions, tool.Title, tool.Description, string(tool.InputSchema)}
	want := []string{"be nice", "ab", "do thisnow é 😀", `{"type":"object","properties":{"p":{"description":"pq","const":"k\u200bl"}}}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}
