package bridge_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/bridge"
)

// A hint that names a tool of the broker becomes a command, and others stay.
func TestHintsForAShell(t *testing.T) {
	for hint, want := range map[string]string{
		bridge.HintSearch:  "broker search WORDS finds tools by what they do",
		bridge.HintServers: "broker servers test shop",
		"try again":        "try again",
		"":                 "",
	} {
		e := &bridge.Error{Server: "shop", Tool: "open", Hint: hint}
		if got := e.ForShell(); got.Hint != want || e.Hint != hint || got.Tool != "open" {
			t.Errorf("%q becomes %+v, want %q", hint, got, want)
		}
	}
}
