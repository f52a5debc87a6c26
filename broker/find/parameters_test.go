package find

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// manyOptional is a schema with two required parameters and many others.
func manyOptional(n int, describe string) json.RawMessage {
	var props []string
	for i := range n {
		props = append(props, fmt.Sprintf(`"option_number_%d":{"type":"string","description":%q},`, i, describe))
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.Join(props, "") +
		`"page_size":{"type":"integer"},"query":{"type":"string"},"owner":{"type":"string"},"repo":{"type":"string"}},"required":["owner","repo"]}`)
}

// Detail "full" contains the schema and the whole description of every tool.
func TestFullHasTheParameters(t *testing.T) {
	long := strings.Repeat("What this parameter does takes many words. ", 40)
	description := "Lists widgets. " + strings.Repeat("A sentence of the description. ", 100)
	f := finderOf(t, discovery.Listing{Server: "hub", Tools: []discovery.ListedTool{
		{Name: "widget_small", Description: description, InputSchema: manyOptional(1, "A word.")},
		{Name: "widget_wordy", Description: description, InputSchema: manyOptional(12, long)},
		{Name: "widget_wide", Description: description, InputSchema: manyOptional(300, "")},
		{Name: "widget_none", Description: description},
		{Name: "widget_empty", Description: description, InputSchema: json.RawMessage(`{}`)},
	}})
	a, err := f.Search(t.Context(), SearchRequest{Query: "widget", Detail: DetailFull})
	if err != nil || len(a.Tools) != 5 {
		t.Fatalf("%d hits, %v", len(a.Tools), err)
	}
	for _, h := range a.Tools {
		text := string(gate.Compact(h))
		if !json.Valid(h.Parameters) || h.Parameters[0] != '{' || strings.Contains(text, "omitted") {
			t.Errorf("%s has the parameters %.100s", h.Name, h.Parameters)
		}
		if h.Description != description+" [write]" || h.WrapperPath == "" {
			t.Errorf("%s has a description of %d bytes, wrapper %q", h.Name, len(h.Description), h.WrapperPath)
		}
		if strings.Contains(h.Declaration, "takes many words") || h.Declaration == "" {
			t.Errorf("%s repeats the schema: %.300s", h.Name, h.Declaration)
		}
		for name := range map[string]bool{"owner": true, "repo": true, "query": true, "page_size": true} {
			if strings.HasSuffix(h.Name, "none") || strings.HasSuffix(h.Name, "empty") {
				break
			}
			if !strings.Contains(string(h.Parameters), `"`+name+`":{"type"`) {
				t.Errorf("%s has no %s in its parameters", h.Name, name)
			}
		}
	}
	at := slices.IndexFunc(a.Tools, func(h SearchHit) bool { return h.Name == "hub__widget_wordy" })
	if n := len(a.Tools[at].Parameters); n > maxHitBytes || n < maxHitBytes/2 {
		t.Errorf("a schema with long descriptions takes %d bytes, want at most %d", n, maxHitBytes)
	}
}

// The default detail has the required parameters, then those that calls use most often,
// and the advice how to get the rest.
func TestDescSaysHowToGetTheRest(t *testing.T) {
	var tools []discovery.ListedTool
	for i := range 6 {
		tools = append(tools, discovery.ListedTool{Name: fmt.Sprintf("widget_%d", i), Description: "Lists widgets.", InputSchema: manyOptional(i*i*10, "")})
	}
	f := finderOf(t, discovery.Listing{Server: "hub", Tools: tools})
	for _, limit := range []int{6, 2} {
		a, err := f.Search(t.Context(), SearchRequest{Query: "widget", Limit: limit})
		if err != nil || len(a.Tools) != limit {
			t.Fatalf("%d hits, %v", len(a.Tools), err)
		}
		text := string(gate.Compact(a))
		cut := strings.Contains(text, "/*+") || strings.Contains(text, "shortened")
		if says := strings.Count(text, "detail full"); cut != (says > 0) || limit > fewHits && says > 1 {
			t.Errorf("%d hits say %d times how to get what is left out: %s", limit, says, text)
		}
		for _, h := range a.Tools {
			call := h.Signature + h.Declaration
			for i, want := range []string{"owner", "repo", "query?", "page_size?"} {
				if i == 3 && h.Signature != "" {
					break // out of room
				}
				if !strings.Contains(call, want) {
					t.Errorf("%s of %d hits has no %s: %s", h.Name, limit, want, call)
				}
			}
		}
	}
}

// A query of twelve names gets twelve tools.
func TestAllNamesOfAQueryAreShown(t *testing.T) {
	var tools []discovery.ListedTool
	for i := range 40 {
		tools = append(tools, discovery.ListedTool{Name: fmt.Sprintf("get_report_%d", i), Description: "Gets a report on a report."})
	}
	f := finderOf(t, discovery.Listing{Server: "hub", Tools: tools})
	var names, want []string
	for i := 38; i > 14; i -= 2 {
		names = append(names, fmt.Sprintf("get_report_%d", i))
		want = append(want, fmt.Sprintf("hub__get_report_%d", i))
	}
	a, err := f.Search(t.Context(), SearchRequest{Query: strings.Join(names, ", "), Detail: DetailName})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range a.Tools {
		got = append(got, h.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q finds %q, want %q", names, got, want)
	}
}
