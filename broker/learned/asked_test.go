package learned

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestFieldNames(t *testing.T) {
	pattern := regexp.MustCompile(`^[A-Za-z_$][\w$-]{0,39}$`)
	long := strings.Repeat("a", 40)
	for _, key := range []string{"", "a", "_", "$ref", "9", "a9", "-a", "a-b", "a b", "a\n", "ä", "aä", "a.b", "X_1-$", long, long + "a", "\xff", "a\x00"} {
		if got, want := isFieldName(key), pattern.MatchString(key); got != want {
			t.Errorf("isFieldName(%q) = %v", key, got)
		}
	}
}

// TestParametersAreMatchedOnce asks for each name twice, and for more names than are kept.
func TestParametersAreMatchedOnce(t *testing.T) {
	var p parameters
	for _, name := range []string{"query", "fields", "Include_all", "id", "q", "SQL", "with_labels", "", strings.Repeat("select", 20)} {
		want := traits{chooser.MatchString(name), query.MatchString(name)}
		for range 2 {
			if got := p.traits(name); got != want {
				t.Errorf("%q: %v, want %v", name, got, want)
			}
		}
	}
	for i := range 2 * maxParameters {
		p.traits(fmt.Sprint("n", i))
	}
	if n := len(p.known); n > maxParameters {
		t.Errorf("%d names are kept", n)
	}
	if got := p.traits("query"); got != (traits{true, true}) {
		t.Errorf("query: %v", got)
	}
}

func TestDigestsOfArguments(t *testing.T) {
	var p parameters
	digests := func(args string) (all, asked digest, queries bool) { return p.digests(json.RawMessage(args)) }
	all, asked, queries := digests(`{"id":1,"fields":"a"}`)
	if !queries {
		t.Error("the parameter fields counts as a query")
	}
	for args, same := range map[string][2]bool{
		`{ "fields": "a", "id": 1 }`:  {true, true},
		`{"id":2,"fields":"a"}`:       {false, true},
		`{"id":1,"fields":"b"}`:       {false, false},
		`{"id":1}`:                    {false, false},
		`{"id":1,"fields":"a","x":0}`: {false, false},
		`{"id":1,"fields":"a"`:        {false, false},
	} {
		a, b, _ := digests(args)
		if got := [2]bool{a == all, b == asked}; got != same {
			t.Errorf("%s: same arguments, same question: %v, want %v", args, got, same)
		}
	}
	if _, _, queries := digests(`{"id":"select"}`); queries {
		t.Error("the value of id is taken for a query")
	}
}
