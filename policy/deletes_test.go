package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/policy"
)

// The recipe of the page that forbids deletions denies each published tool with a name
// that deletes and no other, asks about what may delete something, and allows the rest. The page says how many
// these are.
func TestRecipeThatForbidsDeletions(t *testing.T) {
	page, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\nNo deletions, on any server:\n\n```jsonc\n")
	block, _, _ := strings.Cut(rest, "```")
	text, err := hujson.Standardize([]byte(block))
	var recipe struct{ Policy json.RawMessage }
	if err != nil || json.Unmarshal(text, &recipe) != nil {
		t.Fatalf("the page has no such recipe: %v", err)
	}
	r := rules(t, string(recipe.Policy))
	deleting := regexp.MustCompile(`(?i)(^|[^a-z])(delete|remove|drop|purge|destroy|erase|wipe|truncate|clear|cleanup|uninstall|prune|revoke|reset)([^a-z]|$)`)
	counts := map[policy.Effect]int{}
	for _, file := range []string{publishedFile, othersFile} {
		for _, s := range readPublished(t, file) {
			for _, lt := range sharing.Reviewed("npx", []string{"-y", s.Package}, discovery.Listing{Server: s.Server, Tools: s.Tools}).Tools {
				tool := &discovery.Tool{ListedTool: lt, Server: s.Server}
				d, named := r.Decide(policy.CallOf(tool)), deleting.MatchString(lt.Name) && lt.Name != "browser_drop"
				counts[d.Effect]++
				if named && d.Effect != policy.Deny || !named && d.Effect == policy.Deny {
					t.Errorf("%s.%s: %s, and its name deletes: %t", s.Server, lt.Name, d.Effect, named)
				}
				if class := r.ClassOf(tool); d.Effect == policy.Allow && class != policy.Read && class != policy.Write {
					t.Errorf("%s.%s is %s and allowed", s.Server, lt.Name, class)
				}
			}
		}
	}
	said := fmt.Sprintf("Of the 857 tools of 24 published servers it denies %d, asks about %d and allows %d.", counts[policy.Deny], counts[policy.Ask], counts[policy.Allow])
	if counts[policy.Deny]+counts[policy.Ask]+counts[policy.Allow] != 857 || !strings.Contains(string(page), said) {
		t.Errorf("the page does not say: %s", said)
	}
}

// A rule about "deletes" is about names that delete, not about hints and reviews.
func TestRulesAboutDeletes(t *testing.T) {
	yes := true
	r := rules(t, `{"preset": "open", "rules": [{"effect": "deny", "class": ["deletes"]}]}`)
	for name, want := range map[string]policy.Effect{
		"delete_page": policy.Deny, "pages-remove": policy.Deny, "dropDatabase": policy.Deny, "browser_drop_database": policy.Deny, "kill_session": policy.Deny,
		"update_page": policy.Allow, "move_file": policy.Allow, "write_file": policy.Allow, "execute_sql": policy.Allow, "browser_drop": policy.Allow, "drag_and_drop": policy.Allow,
		"list_deleted": policy.Allow, "get_page": policy.Allow,
	} {
		for _, hint := range []*bool{nil, &yes} {
			tool := &discovery.Tool{Server: "s", ListedTool: discovery.ListedTool{Name: name, Annotations: discovery.Annotations{Destructive: hint}}}
			if d := r.Decide(policy.CallOf(tool)); d.Effect != want {
				t.Errorf("%s with hint %t: %s, want %s", name, hint != nil, d.Effect, want)
			}
		}
	}
	for text, want := range map[string]string{
		`{"rules": [{"effect": "deny", "class": ["deletes", "unknown"]}]}`: `the class is write, not unknown or deletes`,
		`{"rules": [{"effect": "ask", "class": ["deletes"]}]}`:             `the class is write, not deletes`,
		`{"rules": [{"effect": "allow", "class": ["read", "deletes"]}]}`:   `the class is write, not read or deletes`,
	} {
		e := rules(t, text).Explain(policy.Call{Tool: &discovery.Tool{Server: "s", ListedTool: discovery.ListedTool{Name: "write_file"}}})
		if e.Rules[0].Why != want {
			t.Errorf("%s: %q, want %q", text, e.Rules[0].Why, want)
		}
	}
}
