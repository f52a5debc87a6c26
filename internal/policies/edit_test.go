package policies

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// A rule of a class that no known tool has says if tools are not known yet.
func TestRulesOfAClassSayWhatIsNotKnown(t *testing.T) {
	for _, tt := range []struct {
		unlisted []string
		want     string
	}{
		{nil, "no known tool of that class\n"},
		{[]string{"memory"}, "no known tool of that class; the tools of memory are not known yet: broker index lists them\n"},
		{[]string{"a", "b"}, "no known tool of that class; the tools of a, b are not known yet: broker index lists them\n"},
	} {
		var out strings.Builder
		if err := (Change{Action: "added", Effect: "deny", Tools: "*", Class: "deletes", unlisted: tt.unlisted}).Print(&cli.IO{Out: &out}); err != nil || !strings.HasSuffix(out.String(), tt.want) {
			t.Errorf("%v: %v, %q", tt.unlisted, err, &out)
		}
	}
}

// A rule says how many tools it decides about, and names the first.
func TestRulesNameTheirTools(t *testing.T) {
	for _, tt := range []struct {
		effect  string
		decided []string
		others  int
		want    string
	}{
		{"deny", []string{"a__x"}, 0, "1 tool now: denied: a__x\n"},
		{"ask", []string{"a__x", "a__y"}, 1, "2 tools now: a person is asked first: a__x, a__y\n"},
		{"deny", []string{"a__x", "a__y", "b__z", "b__w", "c__v"}, 0, "5 tools now: denied: a__x, a__y, b__z and 2 more\n"},
		{"allow", nil, 2, "0 tools now: allowed\n"},
	} {
		change := Change{Action: "added", Effect: tt.effect, Tools: "*", Matched: len(tt.decided) + tt.others, Decided: tt.decided, Others: make([]otherwise, tt.others)}
		var out strings.Builder
		if err := change.Print(&cli.IO{Out: &out}); err != nil || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%v: %v, %q, want %q", tt, err, &out, tt.want)
		}
	}
}
