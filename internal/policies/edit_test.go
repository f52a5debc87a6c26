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
