package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A package that allocates much while it is initialized makes every command slower,
// also those that do not use it. Each exception is a dependency of a dependency, with
// the kilobytes that it allocates.
func TestPackagesInitializeLittle(t *testing.T) {
	tests := []string{"github.com/google/go-cmp", "github.com/mcpbroker/mcpbroker/internal/badmessages"} // not in the program
	exceptions := map[string]int{
		"github.com/distribution/reference":         440, // regular expressions; the Docker client
		"github.com/google/pprof/profile":           170, // regular expressions; goja
		"github.com/dlclark/regexp2":                150, // tables of Unicode; goja
		"github.com/opencontainers/go-digest":       100,
		"github.com/google/jsonschema-go":           90,
		"github.com/mcpbroker/mcpbroker/cmd/broker": 90, // half of it in tests
	}
	cmd := exec.CommandContext(t.Context(), "broker", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	packages, total := 0, 0
	for line := range strings.Lines(trace.String()) {
		var pkg string
		var at, clock float64
		var allocated, allocs int
		if _, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &pkg, &at, &clock, &allocated, &allocs); err != nil {
			continue
		}
		if slices.ContainsFunc(tests, func(prefix string) bool { return strings.HasPrefix(pkg, prefix) }) {
			continue
		}
		packages++
		total += allocated
		limit := 64
		for prefix, kB := range exceptions {
			if strings.HasPrefix(pkg, prefix) {
				limit = kB
			}
		}
		if allocated > limit<<10 {
			t.Errorf("%s allocates %d kB in %d pieces when the program starts, more than %d: do it at the first use, or import less of it", pkg, allocated>>10, allocs, limit)
		}
	}
	if packages < 50 {
		t.Fatalf("%d packages were traced:\n%s", packages, &trace)
	}
	if total > 1800<<10 {
		t.Errorf("all packages together allocate %d kB when the program starts", total>>10)
	}
}
