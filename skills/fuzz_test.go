package skills_test

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/skills"
)

// Arguments of a prompt are put in as they are: they are not read again for
// references, and a text without references keeps every word.
func FuzzRender(f *testing.F) {
	f.Add("Do $ARGUMENTS and $1.", `a "b c" $2`)
	f.Add("$ARGUMENTS[0]$ARGUMENTS[99999999999999999999]$0", `\`)
	f.Add("none", "'")
	f.Add("$ARGUMENTS", "$ARGUMENTS $1")
	f.Fuzz(func(t *testing.T, body, arguments string) {
		body, arguments = strings.ToValidUTF8(body, "?"), strings.ToValidUTF8(arguments, "?") // as JSON has them
		text := skills.Render(body, arguments)
		if !strings.Contains(body, "$") && !strings.HasPrefix(text, body) {
			t.Errorf("Render(%q, %q) = %q lost words", body, arguments, text)
		}
		if got := skills.Render("<$ARGUMENTS>", arguments); got != "<"+arguments+">" {
			t.Errorf("the arguments %q became %q", arguments, got)
		}
		if references := strings.Count(body, "$"); len(text) > len(body)+(references+1)*(len(arguments)+len("\n\nARGUMENTS: ")) {
			t.Errorf("Render(%q, %q) has %d bytes", body, arguments, len(text))
		}
	})
}
