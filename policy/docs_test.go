package policy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/policy"
)

// The policies in the documentation are right, and its recipes do what they say.
func TestPoliciesOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, more, ok := strings.Cut(string(more), "## Between servers"); ok {
		page = append(page, more...)
	}
	recipes := 0
	for _, block := range regexp.MustCompile("(?s)```jsonc\n(.*?)```").FindAllSubmatch(page, -1) {
		text, err := hujson.Standardize(block[1])
		if err != nil {
			t.Errorf("%v:\n%s", err, block[1])
			continue
		}
		if !strings.Contains(string(text), `"scenarios"`) {
			if _, mistakes := policy.ReadRules(policy.Source{File: "policy.md", Text: text}); len(mistakes) > 0 {
				t.Errorf("%v:\n%s", mistakes, text)
			}
			continue
		}
		recipes++
		scenarios, err := policy.ReadScenarios("policy.md", text)
		if err != nil {
			t.Errorf("%v:\n%s", err, text)
		}
		for _, s := range scenarios {
			if diff := s.Differences(s.Outcome()); len(diff) > 0 {
				t.Errorf("%s: %s", s.ID, strings.Join(diff, ", "))
			}
		}
	}
	if recipes < 14 { // twelve recipes, the example of the format, and that of data flow
		t.Errorf("%d recipes are tested", recipes)
	}
}
