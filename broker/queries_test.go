package broker_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// Several queries are answered by one call, in their order; a tool that an earlier one
// found is not described again.
func TestOneSearchAnswersSeveralQueries(t *testing.T) {
	b := catalogue(t, listing(t, "synth",
		listedTool{Name: "send_email", Description: "Send an email.", InputSchema: stringParams("to", "text")},
		listedTool{Name: "list_invoices", Description: "List the invoices of a customer.", InputSchema: stringParams("customer")},
		listedTool{Name: "delete_file", Description: "Delete a file.", InputSchema: stringParams("path")},
	))
	cs := connect(t, b, "2025-11-25", nil)
	for name, args := range map[string]map[string]any{
		"queries":         {"queries": []string{"list invoices", "send email", "mail"}},
		"a list as query": {"query": []string{"list invoices", "send email", "mail"}},
		"a list as text":  {"queries": `["list invoices", "send email", "mail"]`},
		"beside an empty": {"query": "", "queries": []string{"list invoices", "send email", "mail"}},
	} {
		text, isError := call(t, cs, "search_tools", args)
		var got struct {
			Answers []struct {
				Query string
				Tools []struct{ Name, Description string }
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || isError || len(got.Answers) != 3 {
			t.Fatalf("%s: %v, %s", name, err, text)
		}
		for i, want := range []string{"synth__list_invoices", "synth__send_email", "synth__send_email"} {
			a := got.Answers[i]
			if len(a.Tools) == 0 || a.Tools[0].Name != want || a.Query == "" {
				t.Errorf("%s: answer %d is %+v, want %s first", name, i, a, want)
				continue
			}
			if described := a.Tools[0].Description != ""; described == (i == 2) {
				t.Errorf("%s: answer %d: described %t", name, i, described)
			}
		}
	}
}

func TestQueriesThatCannotBeAnswered(t *testing.T) {
	cs := connect(t, catalogue(t, listing(t, "synth", listedTool{Name: "send_email"})), "2025-11-25", nil)
	for name, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"none":        {map[string]any{"queries": []string{}}, "use 1 to 8"},
		"too many":    {map[string]any{"queries": strings.Split(strings.Repeat("email ", 8)+"email", " ")}, "9 entries"},
		"no texts":    {map[string]any{"queries": []any{1, map[string]any{}}}, "list of texts"},
		"an object":   {map[string]any{"queries": map[string]any{"query": "email"}}, "list of texts"},
		"an empty":    {map[string]any{"queries": []string{"email", " "}}, "entry 2"},
		"both":        {map[string]any{"query": "email", "queries": []string{"mail"}}, "not both"},
		"a bad limit": {map[string]any{"queries": []string{"mail"}, "limit": -1}, "limit"},
	} {
		if text, isError := call(t, cs, "search_tools", c.args); !isError || !strings.Contains(text, c.want) {
			t.Errorf("%s: %t, %s, want %q", name, isError, text, c.want)
		}
	}
}
