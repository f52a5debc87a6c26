package results_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/results"
)

func TestPageOf(t *testing.T) {
	ten := repeat(10, `{"id":#}`)
	for name, tt := range map[string]struct {
		args, value string
		list, more  bool
	}{
		"as many as asked":               {`{"limit":10}`, ten, true, true},
		"fewer":                          {`{"limit":11}`, ten, true, false},
		"more than asked":                {`{"limit":9}`, ten, true, false},
		"one was asked for":              {`{"limit":1}`, `[1]`, false, false},
		"nothing was asked":              {`{}`, ten, false, false},
		"a list in an object":            {`{"per_page":10,"state":"open"}`, `{"items":` + ten + `,"kind":"x"}`, true, true},
		"the only list":                  {`{"pageSize":10}`, `{"invoices":` + ten + `}`, true, true},
		"deep, as GraphQL has it":        {`{"first":10}`, `{"data":{"issues":{"nodes":` + ten + `}}}`, true, true},
		"in text form":                   {`{"maxResults":"10"}`, `{"issues":` + ten + `}`, true, true},
		"size in an object":              {`{"query":{"page_size":10}}`, `{"results":` + ten + `}`, true, true},
		"has_more":                       {`{}`, `{"data":` + ten + `,"has_more":true}`, true, true},
		"has no more":                    {`{"limit":10}`, `{"data":` + ten + `,"has_more":false}`, true, false},
		"a cursor":                       {`{}`, `{"results":` + ten + `,"next_cursor":"abc"}`, true, true},
		"an empty cursor":                {`{"limit":10}`, `{"results":` + ten + `,"next_cursor":""}`, true, false},
		"no cursor":                      {`{"limit":10}`, `{"results":` + ten + `,"nextCursor":null}`, true, false},
		"a cursor in meta":               {`{}`, `{"channels":` + ten + `,"response_metadata":{"next_cursor":"abc="}}`, true, true},
		"a link":                         {`{}`, `{"value":` + ten + `,"@odata.nextLink":"https://x/y?$skip=10"}`, true, true},
		"pageInfo":                       {`{}`, `{"data":{"issues":{"nodes":` + ten + `,"pageInfo":{"hasNextPage":true,"endCursor":"x"}}}}`, true, true},
		"the total is reached":           {`{"limit":10}`, `{"total":10,"items":` + ten + `}`, true, false},
		"the total is not reached":       {`{"limit":10}`, `{"total":25,"items":` + ten + `}`, true, true},
		"next is a word of another kind": {`{}`, `{"steps":` + ten + `,"next":"stir"}`, true, false},
		"a text":                         {`{"limit":10}`, `"next"`, false, false},
		"an object":                      {`{"limit":10}`, `{"a":1}`, false, false},
		"two lists without names":        {`{"limit":10}`, `{"a":` + ten + `,"b":` + ten + `}`, false, false},
	} {
		p, ok := results.PageOf(json.RawMessage(tt.args), json.RawMessage(tt.value))
		if ok != tt.list || ok && p.More() != tt.more {
			t.Errorf("%s: %+v, %v, want list %v, more %v", name, p, ok, tt.list, tt.more)
		}
	}
}

// Calls for other pages of a list have the same query.
func TestPagesOfOneListHaveOneQuery(t *testing.T) {
	query := func(args string) string {
		p, _ := results.PageOf(json.RawMessage(args), json.RawMessage(`{"items":[1,2],"has_more":true}`))
		return p.Query
	}
	first := query(`{"customer":"c1","limit":2,"filter":{"state":"open"}}`)
	for args, same := range map[string]bool{
		`{"customer":"c1","limit":50,"filter":{"state":"open"},"starting_after":"i2"}`: true,
		`{"customer":"c1","filter":{"state":"open","page":2}}`:                         true,
		`{"customer":"c1","page":{"number":2},"filter":{"state":"open"}}`:              false, // an object of its own
		`{"customer":"c2","limit":2,"filter":{"state":"open"}}`:                        false,
		`{"customer":"c1","limit":2,"filter":{"state":"closed"}}`:                      false,
	} {
		if got := query(args) == first; got != same {
			t.Errorf("%s: the same list: %v, want %v", args, got, same)
		}
	}
}

func BenchmarkPageOf(b *testing.B) {
	args, value := json.RawMessage(`{"owner":"o","limit":1000}`), json.RawMessage(`{"items":`+repeat(1000, `{"id":#,"title":"the title of row #","labels":["a","b"],"body":"`+`some text that is longer than the rest of it, as it is in issues`+`"}`)+`}`)
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := results.PageOf(args, value); !ok {
			b.Fatal("no list")
		}
	}
}
