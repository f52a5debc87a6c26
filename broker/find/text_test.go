package find

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/broker/catalog"
	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/state/sqlite"
)

// Only hits at full and descriptions contain the full type of data in texts.
func TestHitsSayWhatTextsHold(t *testing.T) {
	record, err := sqlite.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	store := learned.New(record, nil)
	c := catalog.New(catalog.Options{Learned: store, Fixed: []discovery.Listing{{Server: "db", Tools: []discovery.ListedTool{
		{Name: "run_query", Description: "Runs a query on the database."}, {Name: "list_tables", Description: "Lists the tables."},
	}}}}, &upstream.Options{}, func() {})
	f := New(Options{}, c, &index.Options{})
	t.Cleanup(func() { _, _, _, _ = f.Close(), c.Close(), store.Close(), record.Close() })
	for i := range 3 {
		text, _ := json.Marshal(fmt.Sprintf("Result (%d):\n<rows>[{\"id\":%d,\"name\":\"n\"}]</rows>", i, i))
		store.Observe("db", "run_query", json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)), text)
	}
	a, err := f.Search(t.Context(), SearchRequest{Query: "run query", Detail: DetailFull})
	if err != nil || len(a.Tools) == 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	want := catalog.TextData{Holds: "{id:number;name:string}[]", Parse: `JSON.parse(r.split('<rows>')[1].split('</rows>')[0])`}
	if got := a.Tools[0].Text; got == nil || *got != want {
		t.Errorf("full has %+v, want %+v", got, want)
	}
	if d, err := c.Describe(t.Context(), "db__run_query"); err != nil || d.Text == nil || *d.Text != want {
		t.Errorf("the description has %+v, %v, want %+v", d.Text, err, want)
	}
	if d, err := c.Describe(t.Context(), "db__list_tables"); err != nil || d.Text != nil {
		t.Errorf("a tool that was never called has %+v, %v", d.Text, err)
	}
	if a, err = f.Search(t.Context(), SearchRequest{Query: "db__run_query"}); err != nil || a.Tools[0].Text != nil || !strings.Contains(a.Tools[0].Declaration, "Promise<string> // learned from 3 calls; a text with data, see tools.describe") {
		t.Errorf("desc has %+v, %v", a.Tools[0], err)
	}
}

// The description of search_tools explains each mark of a hit, in every mode, in few
// words.
func TestSearchDescriptionExplainsMarks(t *testing.T) {
	c := catalog.New(catalog.Options{}, &upstream.Options{}, func() {})
	t.Cleanup(func() { _ = c.Close() })
	for _, mode := range []surface.Mode{surface.ModeCode, surface.ModeTools, surface.ModeAuto} {
		f := New(Options{Mode: mode}, c, &index.Options{})
		t.Cleanup(func() { _ = f.Close() })
		text := f.searchDescription()
		for _, mark := range []string{writeMark, askMark} {
			if _, after, ok := strings.Cut(text, mark+" "); !ok || len(after) == 0 {
				t.Errorf("mode %v: no word about%s in %q", mode, mark, text)
			}
		}
		if len(text) > 700 {
			t.Errorf("mode %v: %d bytes", mode, len(text))
		}
	}
}
