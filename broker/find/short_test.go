package find

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// Descriptions stay where they say something and there is room, the best hits first;
// marks are never lost.
func TestDescriptionsThatFit(t *testing.T) {
	tool := func(name, description string, readOnly bool, parameters int) discovery.ListedTool {
		var props, names []string
		for i := range parameters {
			name := fmt.Sprintf("a_parameter_with_a_long_name_%d", i)
			props, names = append(props, `"`+name+`":{"type":"string"}`), append(names, `"`+name+`"`)
		}
		return discovery.ListedTool{Name: name, Description: description, Annotations: discovery.Annotations{ReadOnly: &readOnly},
			InputSchema: json.RawMessage(`{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":[` + strings.Join(names, ",") + `]}`)}
	}
	for _, c := range []struct {
		name      string
		tools     []discovery.ListedTool
		described int
	}{
		{"short", []discovery.ListedTool{tool("set_widget", "Turn a widget on or off.", false, 1), tool("get_widget", "Look at a widget through the window.", true, 1), tool("find_widget", "Look for a widget that is lost.", true, 1), tool("sell_widget", "Give a widget away for money.", false, 0)}, 4},
		{"said by the name", []discovery.ListedTool{tool("update_widget", "Updates the specified widget.", false, 1), tool("list_widgets", "List all widgets of a hub.", true, 1), tool("createWidget", "Creates a new widget", false, 0), tool("widget-delete", "", false, 0)}, 0},
		{"wide", []discovery.ListedTool{tool("set_widget", "Turn a widget on or off.", false, 4), tool("get_widget", "Look at a widget through the window.", true, 4), tool("find_widget", "Look for a widget that is lost.", true, 4), tool("sell_widget", "Give a widget away for money.", false, 4)}, 0},
		{"one is wide", []discovery.ListedTool{tool("set_widget", "Turn a widget on or off.", false, 5), tool("get_widget", "Look at a widget through the window.", true, 1), tool("find_widget", "Look for a widget that is lost.", true, 1), tool("sell_widget", "Give a widget away for money.", false, 1)}, 1},
	} {
		f := finderOf(t, discovery.Listing{Server: "hub", Tools: c.tools})
		a, err := f.Search(t.Context(), SearchRequest{Query: "widget", Limit: 5})
		if err != nil || len(a.Tools) != len(c.tools) {
			t.Fatalf("%s: %d hits, %v", c.name, len(a.Tools), err)
		}
		described, gap := 0, false
		for _, h := range a.Tools {
			of, _ := f.catalog.Scope().Tool(h.Name)
			if marked := strings.HasSuffix(h.Signature+h.Description, "[write]"); marked == of.ReadOnly() {
				t.Errorf("%s: %s is %s, %q", c.name, h.Name, h.Signature, h.Description)
			}
			for i := range strings.Count(string(of.InputSchema), `"string"`) {
				if !strings.Contains(h.Signature, fmt.Sprintf("_name_%d", i)) {
					t.Errorf("%s: %s lacks parameter %d: %s", c.name, h.Name, i, h.Signature)
				}
			}
			if h.Description == "" {
				gap = true
			} else if described++; gap && c.name == "wide" {
				t.Errorf("%s: %s has the room of a better one", c.name, h.Name)
			}
		}
		if described < c.described || c.described == 0 && described > 0 {
			t.Errorf("%s: %d hits have a description, want %d: %s", c.name, described, c.described, gate.Compact(a))
		}
	}
}

// What models read has no servers beside ids; scripts and programs get them.
func TestServersOfHits(t *testing.T) {
	var tools []discovery.ListedTool
	for i := range 5 {
		tools = append(tools, discovery.ListedTool{Name: fmt.Sprintf("get_widget_%d", i), Description: "Get a widget."})
	}
	f := finderOf(t, discovery.Listing{Server: "my-hub", Tools: tools})
	for _, c := range []struct {
		req  SearchRequest
		want int
	}{
		{SearchRequest{Query: "widget"}, 0},
		{SearchRequest{Query: "widget", Limit: 2}, 2},
		{SearchRequest{Query: "widget", Detail: DetailName}, 5},
		{SearchRequest{Query: "widget", Detail: DetailFull}, 5},
	} {
		a, err := f.Search(t.Context(), c.req)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(gate.Compact(a)), `"server":"my-hub"`); n != c.want {
			t.Errorf("%+v: the server is there %d times, want %d", c.req, n, c.want)
		}
		if n := strings.Count(string(gate.Compact(forScript(a))), `"server":"my-hub"`); n != len(a.Tools) {
			t.Errorf("%+v: a script gets the server %d times, want %d", c.req, n, len(a.Tools))
		}
		several := SeveralAnswer{Answers: []QueryAnswer{{Query: "a \"widget\"", SearchAnswer: a}}}
		for _, text := range [][]byte{gate.Compact(several), gate.Compact(forScript(several))} {
			var back SeveralAnswer
			if err := json.Unmarshal(text, &back); err != nil || len(back.Answers) != 1 || back.Answers[0].Query != "a \"widget\"" || len(back.Answers[0].Tools) != len(a.Tools) || back.Answers[0].MatchCount != a.MatchCount {
				t.Errorf("several queries are encoded as %s, %v", text, err)
			}
		}
	}
}
