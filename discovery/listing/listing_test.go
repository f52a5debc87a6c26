package listing

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

func TestTTL(t *testing.T) {
	for page, want := range map[string]time.Duration{
		`{"tools":[],"ttlMs":60000}`: time.Minute,
		`{"tools":[],"ttlMs":1e99}`:  24 * time.Hour,
		`{"tools":[],"ttlMs":0}`:     0,
		`{"tools":[],"ttlMs":-5}`:    0,
		`{"tools":[],"ttlMs":"x"}`:   0,
		`{"tools":[]}`:               0,
	} {
		if got := TTL(json.RawMessage(page)); got != want {
			t.Errorf("TTL(%s) = %s, want %s", page, got, want)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(`{"name":"a","inputSchema":{"type":"object","title":"\u200b"},"annotations":{"readOnlyHint":1}}`)
	f.Add(`{"name":"a","inputSchema":{"description":{"description":"\u202e"}}}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, raw string) {
		page := `{"tools":[` + raw + `]}`
		tools, _, err := Split([]byte(page))
		if err != nil {
			return
		}
		var r Reader
		for _, tool := range tools {
			r.Add(tool)
		}
		if len(r.Tools)+len(r.Problems) < len(tools) {
			t.Errorf("%q: %d entries became %d tools and %d problems", raw, len(tools), len(r.Tools), len(r.Problems))
		}
		for _, tool := range r.Tools {
			if gate.Clean(tool.Description) != tool.Description || !strings.HasPrefix(string(tool.InputSchema), "{") {
				t.Errorf("%q: %+v", raw, tool)
			}
		}
	})
}

// What is read of any entry of a server has an address without hidden
// characters, and JSON that is JSON.
func FuzzSkill(f *testing.F) {
	f.Add(`{"uri":"skill://a","frontmatter":{"name":"a","x":[1, 2]},"resources":[{"path":"b"}]}`)
	f.Add(`{"uri":"skill://\u202ea"}`)
	f.Add(`{"uri":1}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, raw string) {
		e, err := Skill(json.RawMessage(raw))
		if err != nil {
			if gate.Clean(err.Error()) != err.Error() || len(err.Error()) > 1_000 {
				t.Errorf("%q gives the error %q", raw, err)
			}
			return
		}
		if e.URI == "" || gate.Clean(e.URI) != e.URI {
			t.Errorf("%q has the address %q", raw, e.URI)
		}
		for _, part := range []json.RawMessage{e.Frontmatter, e.Resources} {
			if len(part) > 0 && !json.Valid(part) {
				t.Errorf("%q gives %q", raw, part)
			}
		}
	})
}

// A list ends at a repeated page, with or without entries.
func TestPagesThatRepeatEnd(t *testing.T) {
	for name, next := range map[string]map[string]string{
		"at once":        {"": "a", "a": "a"},
		"in a circle":    {"": "a", "a": "b", "b": "c", "c": "a"},
		"from the first": {"": "", "a": "a"},
	} {
		for _, page := range [][]string{nil, {"x"}, {"x", "y"}} {
			asked := 0
			for _, err := range Pages(func(cursor string) ([]string, string, error) {
				asked++
				return page, next[cursor], nil
			}) {
				if err != nil {
					t.Error(err)
				}
			}
			if most := len(next); asked > most {
				t.Errorf("%s: %d pages are read, want %d at most", name, asked, most)
			}
		}
	}
}
