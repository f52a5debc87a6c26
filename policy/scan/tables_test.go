package scan

import (
	"slices"
	"strings"
	"testing"
)

// Each name in the tables has a meaning, and each list of the code is there.
func TestTables(t *testing.T) {
	if len(classNamed) > 64 || len(kindNames) > 32 {
		t.Errorf("%d classes and %d kinds, at most 64 and 32 are possible", len(classNamed), len(kindNames))
	}
	rules := 0
	for name, list := range entries(ruleList) {
		if !slices.Contains(kindNames, name) {
			t.Errorf("rules.txt: no kind is called %q", name)
		}
		for rule := range strings.SplitSeq(list, "; ") {
			rules++
			words, locations, _ := strings.Cut(rule, " @")
			if strings.Trim(locations, locationNames) != "" {
				t.Errorf("rules.txt: %q: unknown location", rule)
			}
			for step := range strings.FieldsSeq(strings.TrimPrefix(words, "~ ")) {
				for class := range strings.SplitSeq(strings.TrimLeft(step, "!->"), "|") {
					if classNamed[class] == 0 {
						t.Errorf("rules.txt: %q: no class is called %q", rule, class)
					}
				}
			}
		}
	}
	if got := len(ruleTable()); got != rules || rules < 80 {
		t.Errorf("%d rules are read, want %d", got, rules)
	}
	for _, name := range []string{"markers", "collectors", "tentative", "variants", "clients", "copies", "spelt", "lookalikes"} {
		if len(lists()[name]) < 2 || slices.Contains(lists()[name], "") {
			t.Errorf("lists.txt: %s: %q", name, lists()[name])
		}
	}
	for name, list := range entries(wordList) {
		if strings.Contains("|"+list+"|", "||") || strings.Contains(list, ";") {
			t.Errorf("words.txt: %s has an empty entry or a semicolon", name)
		}
	}
}
