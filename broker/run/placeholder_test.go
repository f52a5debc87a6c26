package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A server's schema that refers to itself in each property makes no endless
// placeholder.
func TestPlaceholderIsBounded(t *testing.T) {
	var properties []string
	for i := range 1000 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#"}`, i))
	}
	p := placeholder(json.RawMessage(`{"type":"object","properties":{`+strings.Join(properties, ",")+`}}`), false, 1)
	if len(p) > 1<<20 {
		t.Errorf("%d bytes", len(p))
	}
}

// A server cannot make what a script says stand for its result.
func TestConstantsStandForNothing(t *testing.T) {
	p := placeholder(json.RawMessage(`{"properties":{"a":{"const":1700000000},"b":{"const":"«"},"c":{"const":"«2.x»"},
		"d":{"const":"https://plan.invalid/"},"e":{"type":"string"},"f":{"type":"integer"},"g":{"type":"string","format":"uri"}}}`), false, 1)
	var got []string
	for _, s := range marksOf(p, 1) {
		got = append(got, strings.Join(s.path, "."))
	}
	if len(got) != 3 || !strings.Contains(strings.Join(got, " "), "e") || !strings.Contains(strings.Join(got, " "), "f") || !strings.Contains(strings.Join(got, " "), "g") {
		t.Errorf("%v of %s", got, p)
	}
}
