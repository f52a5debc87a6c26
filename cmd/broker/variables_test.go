package main

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/app/host"
)

// What a client passes without having it counts as not set, for a server and for the
// daemon.
func TestVariablesThatAClientDoesNotHave(t *testing.T) {
	for _, test := range []struct {
		gemini, value string
		set           bool
	}{
		{"", "$PASSED_ON", false}, {"", "${PASSED_ON}", false}, {"", "${env:PASSED_ON}", false}, {"1", "$PASSED_ON", false}, {"1", "", false},
		{"", "", true}, {"0", "", true}, {"1", "x", true}, {"", "$PASSED", true}, {"", "$", true}, {"1", "${PASSED_ON:-x}", true},
	} {
		t.Setenv("GEMINI_CLI", test.gemini)
		t.Setenv("PASSED_ON", test.value)
		v := host.NewVariables(lookupVariable)
		for name, lookup := range map[string]func(string) (string, bool){"a server": sources().Env, "the daemon's variables": v.Lookup} {
			if value, set := lookup("PASSED_ON"); set != test.set || set && value != test.value {
				t.Errorf("%s, GEMINI_CLI=%s PASSED_ON=%s: %q, %v", name, test.gemini, test.value, value, set)
			}
		}
	}
	if _, set := lookupVariable("NOBODY_SETS_THIS_ONE"); set {
		t.Error("a variable that is not set is")
	}
}
