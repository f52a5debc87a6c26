package mcpbroker_test

import (
	"regexp"
	"testing"
)

// setsVariable matches code that changes the environment of its own process.
var setsVariable = regexp.MustCompile(`\b(os|syscall|unix)\.(Setenv|Unsetenv|Clearenv)\(`)

// One process serves many clients: a variable of one client must not affect the others.
func TestNothingSetsTheVariablesOfTheProcess(t *testing.T) {
	free := map[string]bool{
		"sandbox/worker/tune.go":      true, // the child of one script clears its own environment
		"internal/ramdisk/ramdisk.go": true, // runs in test binaries
	}
	eachSource(t, func(string) bool { return false }, func(name, line string, n int) {
		if found := setsVariable.FindString(line); found != "" && !free[name] {
			t.Errorf("%s:%d uses %s…): give the value to what needs it", name, n, found)
		}
	})
}
