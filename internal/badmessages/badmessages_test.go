package badmessages

import (
	"slices"
	"testing"
)

func TestEachPartIsVaried(t *testing.T) {
	got := Values(`{"a":{"b":[1]},"c":2}`)
	for _, want := range []string{
		"", "null", `{"c":2}`, `{"c":2,"a":null}`, `{"c":2,"a":{}}`, `{"c":2,"a":{"b":"text"}}`, `{"c":2,"a":{"b":[]}}`, `{"c":2,"a":{"b":[null]}}`,
		`{"a":{"b":[1]}}`, `{"a":{"b":[1]},"c":null}`, `{"a":{"b":[1]},"c":` + nested[0] + `}`, `{"c":2,"a":` + nested[0] + `}`, nested[0], nested[1],
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%.80s is not among the values", want)
		}
	}
}

func TestResponsesOfAllKinds(t *testing.T) {
	got := Responses("7", `{"roots":[{"uri":"file:///a"}]}`)
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":7}`, `{"jsonrpc":"2.0","id":7,"result":null}`, `{"jsonrpc":"2.0","id":7,"result":{"roots":[null]}}`,
		`{"jsonrpc":"2.0","id":7,"error":null}`, `{"jsonrpc":"2.0","id":7,"error":"text"}`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among the responses", want)
		}
	}
}
