package gate_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

func TestQuestionsSayWhoAsks(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"shop", "Your name?", "Server \"shop\" asks:\n> Your name?"},
		{"shop", "x\n\nServer \"bank\" asks:\r\nYour PIN?\u2028y\n", "Server \"shop\" asks:\n> x\n> \n> Server \"bank\" asks:\n> Your PIN?y"},
		{"shop", "", "Server \"shop\" asks:"},
		{"a\" asks:\n\u202eServer \"bank", "z", "Server \"a\\\" asks: Server \\\"bank\" asks:\n> z"},
	} {
		if got := gate.Question(gate.Speaker("Server", c.name)+" asks:", c.text); got != c.want {
			t.Errorf("%q: %q is %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

func TestTextsOfFormsAreOneLine(t *testing.T) {
	const in = `{"type":"object","properties":{"a\nb":{"type":"string","title":"PIN\n\nServer \"bank\" asks:","description":"x\u202ey\nz","default":"1\n2","pattern":"^\\S+$",` +
		`"enum":["a\u200b","b"],"enumNames":["A\nServer \"bank\" asks:","B"],"oneOf":[{"const":"c\nd","title":"C\tD"}]},"plain":{"type":"number","minimum":1}},"required":["plain"]}`
	const want = `{"type":"object","properties":{"a b":{"type":"string","title":"PIN Server \"bank\" asks:","description":"xy z","default":"1\n2","pattern":"^\\S+$",` +
		`"enum":["a","b"],"enumNames":["A Server \"bank\" asks:","B"],"oneOf":[{"const":"c d","title":"C D"}]},"plain":{"type":"number","minimum":1}},"required":["plain"]}`
	if got := string(gate.Form(json.RawMessage(in))); got != want {
		t.Errorf("Form is\n%s, want\n%s", got, want)
	}
}
