package discovery_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

const issueSchema = `{"type":"object","properties":{"title":{"type":"string"},"repo":{"type":"string"},"token":{"type":"string"}},` +
	`"required":["repo","title","token"],"anyOf":[{"required":["token"]},{"required":["title"]}],"additionalProperties":false}`

func issues() discovery.Listing {
	return discovery.Listing{Server: "git", Tools: []discovery.ListedTool{
		{Name: "create_issue", Title: "Create", Description: "Makes one.", InputSchema: json.RawMessage(issueSchema)},
		{Name: "close", InputSchema: json.RawMessage(`{"type":"object"}`)},
	}}
}

func TestOverride(t *testing.T) {
	l := issues()
	over := discovery.Overrides{"create_issue": {
		Name: "report", Description: "Report a bug.", Hide: []string{"token", "repo"},
		Defaults: map[string]json.RawMessage{"repo": json.RawMessage(`{"a":{"b":1}}`), "token": json.RawMessage(`"t"`)},
	}}
	got := over.Apply(l).Tools[0]
	const shown = `{"type":"object","properties":{"title":{"type":"string"}},"required":["title"],"anyOf":[{},{"required":["title"]}],"additionalProperties":false}`
	if got.Name != "report" || got.Title != "" || got.Description != "Report a bug." || got.OwnName() != "create_issue" || string(got.InputSchema) != shown {
		t.Errorf("the changed tool is %+v with the schema %s", got, got.InputSchema)
	}
	if l.Tools[0].Name != "create_issue" || string(l.Tools[0].InputSchema) != issueSchema {
		t.Error("the listing itself was changed")
	}
	for args, want := range map[string]string{
		`{}`:                       `{"repo":{"a":{"b":1}},"token":"t"}`,
		` {"title": {"x":{}} } `:   `{"title": {"x":{}} ,"repo":{"a":{"b":1}},"token":"t"}`,
		`{"title":"a","repo":"b"}`: `unknown parameter "repo"`,
	} {
		sent, err := got.Send(json.RawMessage(args))
		if err != nil {
			sent = json.RawMessage(err.Error())
		}
		if string(sent) != want {
			t.Errorf("Send(%s) = %s, want %s", args, sent, want)
		}
	}
	if len(over.Problems(l)) > 0 {
		t.Errorf("problems: %v", over.Problems(l))
	}
}

// A default that is not hidden can be overruled.
func TestDefaultThatIsShown(t *testing.T) {
	over := discovery.Overrides{"create_issue": {Defaults: map[string]json.RawMessage{"repo": json.RawMessage(`"r"`)}}}
	got := over.Apply(issues()).Tools[0]
	if sent, err := got.Send(json.RawMessage(`{"repo":"mine"}`)); string(sent) != `{"repo":"mine"}` || err != nil {
		t.Errorf("sent %s, %v", sent, err)
	}
	if schema := string(got.InputSchema); !strings.Contains(schema, `"repo":{"type":"string"}`) || !strings.Contains(schema, `"required":["title","token"]`) {
		t.Errorf("schema %s", schema)
	}
}

func TestOverrideProblems(t *testing.T) {
	over := discovery.Overrides{
		"create_isue":  {Name: "x"},
		"create_issue": {Name: "close", Hide: []string{"title", "tokn"}, Defaults: map[string]json.RawMessage{"rpo": nil}},
	}
	want := []string{
		`tool create_issue of server git keeps its name: another tool has the name "close"`,
		`tool create_issue of server git has no parameter "rpo" for a default; did you mean "repo"?`,
		`tool create_issue of server git needs the parameter "title", which is hidden: give it a default`,
		`tool create_issue of server git has no parameter "tokn" to hide; did you mean "token"?`,
		`server git has no tool "create_isue" to override; did you mean "create_issue"?`,
	}
	got := over.Problems(issues())
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if name := over.Apply(issues()).Tools[0].Name; name != "create_issue" {
		t.Errorf("a name that another tool has was given: %s", name)
	}
}

// Whatever a server has as schema, what is hidden is not in it, and it stays JSON.
func FuzzOverride(f *testing.F) {
	f.Add(issueSchema, `{"title":"a"}`)
	f.Add(`{"properties":{"a":1},"properties":{"token":2}}`, `{}`)
	f.Add(`{"allOf":[{"properties":{"token":true}},1,{"anyOf":[{"required":["token"]}]}]}`, `{"a":[{}]}`)
	f.Add(`[`, `{"a":"}"}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		over := discovery.Overrides{"a": {Hide: []string{"token"}, Defaults: map[string]json.RawMessage{"token": json.RawMessage("1")}}}
		tool := over.Apply(discovery.Listing{Tools: []discovery.ListedTool{{Name: "a", InputSchema: json.RawMessage(schema)}}}).Tools[0]
		if json.Valid([]byte(schema)) && !json.Valid(tool.InputSchema) {
			t.Fatalf("%s became %s", schema, tool.InputSchema)
		}
		var s map[string]map[string]json.RawMessage
		if json.Unmarshal(tool.InputSchema, &s) == nil && s["properties"]["token"] != nil && json.Valid([]byte(schema)) {
			t.Fatalf("%s still has the parameter: %s", schema, tool.InputSchema)
		}
		var given map[string]json.RawMessage
		if json.Unmarshal([]byte(args), &given) != nil || given == nil {
			return
		}
		sent, err := tool.Send(json.RawMessage(args))
		if err == nil && !json.Valid(sent) {
			t.Fatalf("Send(%s) = %s", args, sent)
		}
	})
}
