package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/policy"
)

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scenarios, err := policy.ReadScenarios(file, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scenarios {
			o := s.Outcome()
			if diff := s.Differences(o); len(diff) > 0 {
				t.Errorf("%s: %s: %s\n%s", filepath.Base(file), s.ID, strings.Join(diff, ", "), o.Error)
			}
		}
		t.Logf("%s: %d scenarios", file, len(scenarios))
	}
}
