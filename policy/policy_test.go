package policy_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

// Two servers, one of which has a name that is not the prefix of its ids.
func tool(server, name string, readOnly *bool) *discovery.Tool {
	c := discovery.NewCatalog([]discovery.Listing{{Server: server, Tools: []discovery.ListedTool{
		{Name: name, Annotations: discovery.Annotations{ReadOnly: readOnly}}}}})
	return c.Tools()[0]
}

func call(t *discovery.Tool, allowed ...string) policy.Call {
	c := policy.CallOf(t)
	c.Skill = &policy.Skill{Ref: "triage", AllowedTools: allowed}
	return c
}

type fixed policy.Decision

func (f fixed) Decide(policy.Call) policy.Decision { return policy.Decision(f) }

// Deny wins, then ask, then allow, in any order; of equals the first counts.
func TestOrderOfPoliciesDoesNotChangeTheEffect(t *testing.T) {
	allow, ask, deny := fixed{}, fixed{Effect: policy.Ask, Code: "a"}, fixed{Effect: policy.Deny, Code: "d"}
	for _, tt := range []struct {
		list policy.List
		want fixed
	}{
		{nil, allow},
		{policy.List{allow, allow}, allow},
		{policy.List{allow, ask}, ask},
		{policy.List{ask, allow}, ask},
		{policy.List{ask, deny, allow}, deny},
		{policy.List{deny, ask}, deny},
		{policy.List{ask, policy.List{allow, deny}}, deny},
		{policy.List{ask, fixed{Effect: policy.Ask, Code: "later"}}, ask},
	} {
		if got := tt.list.Decide(call(tool("s", "get_x", nil))); got != policy.Decision(tt.want) {
			t.Errorf("%v: %v, want %v", tt.list, got, tt.want)
		}
	}
}

func TestReadOnlyWantsTheMark(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name string
		mark *bool
		want policy.Effect
	}{
		{"get_page", &yes, policy.Allow},
		{"generate_chart", &yes, policy.Allow},
		{"get_page", nil, policy.Deny},
		{"get_page", &no, policy.Deny},
		{"delete_page", &yes, policy.Deny},
	} {
		d := policy.ReadOnly{}.Decide(call(tool("wiki", tt.name, tt.mark)))
		if d.Effect != tt.want || (d.Effect == policy.Deny) != (d.Code == policy.CodeReadOnly && d.Reason != "" && d.Hint != "") {
			t.Errorf("%s: %+v, want %v", tt.name, d, tt.want)
		}
	}
}

func TestToolListPatterns(t *testing.T) {
	tests := []struct {
		allow, deny, tools, want []string
	}{
		{nil, nil, []string{"a", "b/c"}, []string{"a", "b/c"}},
		{[]string{"*"}, nil, []string{"a", "b/c"}, []string{"a", "b/c"}},
		{[]string{"get_*"}, nil, []string{"get_a", "set_a"}, []string{"get_a"}},
		{[]string{"get_*"}, []string{"*_secret"}, []string{"get_a", "get_secret"}, []string{"get_a"}},
		{nil, []string{"*"}, []string{"a", "b/c"}, nil},
		{[]string{"[x"}, nil, []string{"[x", "x"}, []string{"[x"}},
	}
	for _, tt := range tests {
		lists := policy.ToolLists{"s": {Allow: tt.allow, Deny: tt.deny}}
		listing := discovery.Listing{Server: "s"}
		var got, kept []string
		for _, name := range tt.tools {
			listing.Tools = append(listing.Tools, discovery.ListedTool{Name: name})
			if d := lists.Decide(call(tool("s", name, nil))); d.Effect == policy.Allow {
				got = append(got, name)
			}
			if d := lists.Decide(call(tool("other", name, nil))); d.Effect != policy.Allow {
				t.Errorf("%s of a server without lists: %+v", name, d)
			}
		}
		for _, l := range lists.Filter(listing).Tools {
			kept = append(kept, l.Name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("allow %q, deny %q (-want +got):\n%s", tt.allow, tt.deny, diff)
		}
		if diff := cmp.Diff(got, kept); diff != "" {
			t.Errorf("allow %q, deny %q: Decide and Filter differ (-decided +kept):\n%s", tt.allow, tt.deny, diff)
		}
	}
}

// Prompts and resources are denied as tools are.
func TestFilterTakesPromptsAndResources(t *testing.T) {
	offers := discovery.Listing{Server: "s", Prompts: make([]discovery.ListedPrompt, 1), Resources: make([]discovery.ListedResource, 1)}
	for _, list := range []policy.ToolList{{Deny: []string{"resources/*", "prompts/get"}}, {Allow: []string{"echo"}}} {
		if got := (policy.ToolLists{"s": list}).Filter(offers); len(got.Prompts)+len(got.Resources) > 0 {
			t.Errorf("%+v keeps %v and %v", list, got.Prompts, got.Resources)
		}
	}
	if got := (policy.ToolLists{"s": {Deny: []string{"echo"}}}).Filter(offers); len(got.Prompts)+len(got.Resources) != 2 {
		t.Errorf("a list that does not name them keeps %v and %v", got.Prompts, got.Resources)
	}
}

func TestAllowedToolsOfSkills(t *testing.T) {
	drive, dotted := tool("google-drive", "get_document", nil), tool("a.b", "c.d", nil)
	for _, tt := range []struct {
		tool  *discovery.Tool
		token string
		want  bool
	}{
		{drive, "google_drive__get_document", true},
		{drive, "mcp__google_drive__get_document", true},
		{drive, "mcp__google-drive__get_document", true},
		{drive, "google-drive.get_document", true},
		{drive, "google-drive/get_document", true},
		{drive, "google-drive:get_document", true},
		{drive, "mcp__google-drive", true},
		{drive, "mcp__google_drive", true},
		{drive, "google_drive__get_*", true},
		{drive, "google-drive.*", true},
		{drive, "mcp__google*__get_*", true},
		{drive, "mcp__google*", true},
		{drive, "mcp__*", true},
		{drive, "*", true},
		{drive, "google-drive", false},
		{drive, "mcp__google", false},
		{drive, "google_drive__get", false},
		{drive, "google-drive.set_*", false},
		{drive, "Bash(git:*)", false},
		{drive, "[", false},
		{drive, "", false},
		{dotted, "a.b.c.d", true},
		{dotted, "a.b.*", true},
		{dotted, "a.c.d", false},
	} {
		d := policy.AllowedTools{}.Decide(call(tt.tool, "Read", tt.token))
		if got := d.Effect == policy.Allow; got != tt.want {
			t.Errorf("%s for %s: %v, want %v", tt.token, tt.tool.ID, got, tt.want)
		}
	}
	if d := (policy.AllowedTools{}).Decide(call(drive)); d.Effect != policy.Allow {
		t.Errorf("a skill that declares none: %+v", d)
	}
	if d := (policy.AllowedTools{}).Decide(policy.CallOf(drive)); d.Effect != policy.Allow {
		t.Errorf("a call of no skill: %+v", d)
	}
}

func all() (policy.List, policy.Call) {
	yes := true
	list := policy.List{
		policy.ToolLists{"github": {Allow: []string{"get_*", "list_*"}, Deny: []string{"get_secret*"}}},
		policy.ReadOnly{}, policy.AllowedTools{},
	}
	return list, call(tool("github", "get_file_contents", &yes), "Read", "Bash(git:*)", "github__list_issues", "github.get_*")
}

func TestDecideAllocatesNothing(t *testing.T) {
	list, c := all()
	if d := list.Decide(c); d.Effect != policy.Allow {
		t.Fatalf("%+v", d)
	}
	if n := testing.AllocsPerRun(100, func() { c.Class = policy.ClassOf(c.Tool); list.Decide(c) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The class of the tool and the three policies, as for each call.
func BenchmarkDecide(b *testing.B) {
	list, c := all()
	b.ReportAllocs()
	for b.Loop() {
		c.Class = policy.ClassOf(c.Tool)
		list.Decide(c)
	}
}

func ExampleList() {
	catalog := discovery.NewCatalog([]discovery.Listing{{Server: "wiki", Tools: []discovery.ListedTool{
		{Name: "get_page", Annotations: discovery.Annotations{ReadOnly: new(true)}}, {Name: "delete_page"}, {Name: "get_secrets"},
	}}})
	list := policy.List{
		policy.ToolLists{"wiki": {Deny: []string{"*_secrets"}}},
		policy.ReadOnly{},
	}
	for _, t := range catalog.Tools() {
		c := policy.CallOf(t)
		d := list.Decide(c)
		fmt.Printf("%s is %s: %s\n", t.ID, c.Class, d.Effect)
	}
	// Output:
	// wiki__get_page is read: allow
	// wiki__delete_page is destructive: deny
	// wiki__get_secrets is read: deny
}
