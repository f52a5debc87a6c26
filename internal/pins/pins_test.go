package pins_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/pins"
)

func listing(schema string) discovery.Listing {
	return discovery.Listing{Server: "s", Tools: []discovery.ListedTool{{Name: "t", Description: "Does it.", InputSchema: json.RawMessage(schema)}}}
}

func held(l discovery.Listing) string {
	if len(l.Held) != 1 || len(l.Tools) != 0 {
		return ""
	}
	return l.Held[0].State
}

func TestApprovalsOfAnotherProcessAreSeen(t *testing.T) {
	dir := t.TempDir()
	mine, others := pins.Open(dir, pins.On, nil), pins.Open(dir, pins.On, nil)
	if l := mine.Filter(listing(`{"type":"object"}`)); len(l.Held) > 0 {
		t.Fatalf("at first: %+v", l.Held)
	}
	changed := listing(`{"type":"object","required":["bcc"]}`)
	if got := held(mine.Filter(changed)); got != pins.Changed {
		t.Fatalf("changed: %q", got)
	}
	before := mine.Stamp()
	if err := others.Approve(changed, map[string]bool{"t": true}); err != nil {
		t.Fatal(err)
	}
	if mine.Stamp().Equal(before) {
		t.Error("the stamp is the same after an approval")
	}
	if l := mine.Filter(changed); len(l.Held) > 0 {
		t.Errorf("approved: %+v", l.Held)
	}
	if err := others.Block("s", []string{"t"}); err != nil {
		t.Fatal(err)
	}
	if got := held(mine.Filter(changed)); got != pins.Blocked {
		t.Errorf("blocked: %q", got)
	}
}

func TestPinsThatCannotBeReadApproveNothing(t *testing.T) {
	dir := t.TempDir()
	s := pins.Open(dir, pins.On, nil)
	s.Filter(listing(`{}`))
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	if len(files) != 1 {
		t.Fatalf("files: %q", files)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := held(pins.Open(dir, pins.On, nil).Filter(listing(`{}`))); got != "unreadable" {
		t.Errorf("held: %q", got)
	}
}
