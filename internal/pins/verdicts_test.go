package pins

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/state"
	statefiles "github.com/mcpbroker/mcpbroker/state/files"
)

// counted counts how often pins are read for a comparison.
type counted struct {
	pinned
	reads int
}

type pinned = state.Pins

func (c *counted) Pins(ctx context.Context, server string) (map[state.PinName]state.Pin, error) {
	c.reads++
	return c.pinned.Pins(ctx, server)
}

func verdictListing() discovery.Listing {
	return discovery.Listing{Server: "mail", Transport: "stdio", Instructions: "Read first.", Tools: []discovery.ListedTool{
		{Name: "read", Description: "Reads a message.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		{Name: "send", Description: "Sends a message.", InputSchema: json.RawMessage(`{"type":"object"}`)},
	}}
}

// old makes the pins of a folder older than the time within which a change may not
// change their version.
func old(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no pins: %v", err)
	}
	for _, name := range names {
		at := time.Now().Add(-time.Minute)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func TestApprovedListingsAreComparedOnce(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "verdicts.json")
	start := func(l discovery.Listing, mode Mode) (reads int, out discovery.Listing) {
		c := &counted{pinned: statefiles.OpenPins(dir)}
		out = Open(c, &Options{Mode: mode, Verdicts: file}).Filter([]discovery.Listing{l})[0]
		return c.reads, out
	}
	start(verdictListing(), On) // pin the listing
	old(t, dir)
	if reads, _ := start(verdictListing(), On); reads == 0 {
		t.Error("the first listing after pins were made is not compared")
	}
	for range 2 {
		if reads, out := start(verdictListing(), On); reads != 0 || !reflect.DeepEqual(out, verdictListing()) {
			t.Errorf("%d reads of pins for a listing that was compared: %+v", reads, out)
		}
	}
	if reads, _ := start(verdictListing(), Strict); reads == 0 {
		t.Error("not compared in another mode")
	}

	changed := verdictListing()
	changed.Tools[1].InputSchema = json.RawMessage(`{"type":"object","properties":{"bcc":{"type":"string"}},"required":["bcc"]}`)
	for range 3 { // held items are compared each time
		reads, out := start(changed, On)
		if reads == 0 || len(out.Tools) != 1 || len(out.Held) != 1 {
			t.Errorf("%d reads, %+v", reads, out)
		}
	}

	// What a person has blocked since is not passed on.
	start(verdictListing(), On)
	s := Open(statefiles.OpenPins(dir), nil)
	rows, err := s.Rows([]discovery.Listing{verdictListing()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Block(rows[1:2]); err != nil {
		t.Fatal(err)
	}
	if _, out := start(verdictListing(), On); len(out.Held) != 1 {
		t.Errorf("blocked, and not held: %+v", out)
	}
}

func TestVerdictsThatCannotBeReadAreMadeAnew(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty": "", "no JSON": "{", "null": "null", "a list": "[]", "another version": `{"version":99,"servers":{"mail":"x"}}`,
		"other types": `{"version":1,"servers":{"mail":7}}`, "no servers": `{"version":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "verdicts.json")
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			Open(statefiles.OpenPins(dir), &Options{Verdicts: file}).Filter([]discovery.Listing{verdictListing()})
			old(t, dir)
			Open(statefiles.OpenPins(dir), &Options{Verdicts: file}).Filter([]discovery.Listing{verdictListing()})
			c := &counted{pinned: statefiles.OpenPins(dir)}
			Open(c, &Options{Verdicts: file}).Filter([]discovery.Listing{verdictListing()})
			if c.reads != 0 {
				t.Errorf("%d reads of pins after the file was made anew", c.reads)
			}
		})
	}
}

// The key changes with each field of a listing, including fields that are added in the
// future.
func TestKeyChangesWithEachField(t *testing.T) {
	yes := true
	full := func() *discovery.Listing {
		return &discovery.Listing{
			Tools:     []discovery.ListedTool{{Annotations: discovery.Annotations{ReadOnly: &yes}, Original: &discovery.Original{}}},
			Prompts:   []discovery.ListedPrompt{{Arguments: []discovery.PromptArgument{{}}}},
			Resources: []discovery.ListedResource{{}}, Problems: []string{""}, SkillProblems: []string{""},
			Held: []discovery.Held{{}}, Skills: []discovery.ListedSkill{{}},
		}
	}
	before, n := keyOf(full(), "1", On), 0
	var change func(v reflect.Value, check func())
	change = func(v reflect.Value, check func()) {
		was := reflect.New(v.Type()).Elem()
		was.Set(v)
		switch v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Struct:
			for _, field := range v.Fields() {
				change(field, check)
			}
			return
		case reflect.Pointer:
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			} else {
				change(v.Elem(), check)
				v.SetZero()
			}
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem())
		case reflect.Slice:
			if v.Len() > 0 {
				change(v.Index(0), check)
			}
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		default:
			t.Fatalf("a field of type %s: write must know it", v.Type())
		}
		check()
		v.Set(was)
	}
	l := full()
	change(reflect.ValueOf(l).Elem(), func() {
		n++
		if keyOf(l, "1", On) == before {
			t.Errorf("the key is the same for %+v", l)
		}
	})
	if n < 40 || keyOf(l, "1", On) != before {
		t.Errorf("%d changes were tried", n)
	}
	if keyOf(l, "2", On) == before || keyOf(l, "1", Strict) == before || keyOf(l, "", On) != "" {
		t.Error("the key does not change with the version of the pins, or the mode")
	}
}
