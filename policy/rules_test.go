package policy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

func rules(t testing.TB, text string) *policy.Rules {
	t.Helper()
	r, mistakes := policy.ReadRules(policy.Source{File: "policy.json", Text: []byte(text)})
	if r == nil {
		t.Fatalf("%s: %v", text, mistakes)
	}
	return r
}

func toolOfServer(server, name string) *discovery.Tool {
	return policy.NewTool(discovery.Listing{Server: server}, name)
}

// Every mistake of a policy, and where it is.
func TestMistakesOfAPolicy(t *testing.T) {
	for text, want := range map[string]string{
		`{"preset": "balancd"}`: `1:12: unknown preset of the policy "balancd"; did you mean "balanced"?`,
		`{"rulez": []}`:         `1:2: unknown key "rulez" in the policy; did you mean "rules"?`,
		`{"rules": [{"effect": "deny", "tols": ["a"]}]}`:                           `1:31: unknown key "tols" in rule 0; did you mean "tools"?`,
		`{"rules": [{"tools": ["a"]}]}`:                                            `1:12: rule 0 has no "effect": write "deny", "ask" or "allow"`,
		`{"rules": [{"effect": "block"}]}`:                                         `1:23: unknown effect "block": write "allow", "ask" or "deny"`,
		`{"rules": [{"effect": "deny", "class": ["writes"]}]}`:                     `1:41: unknown class "writes"; did you mean "write"?`,
		`{"rules": [{"effect": "deny", "tools": []}]}`:                             `1:40: "tools" of rule 0 is empty: write what it is about, or leave it out`,
		`{"rules": [{"effect": "deny", "tools": ["a.[x"]}]}`:                       `1:41: "tools" of rule 0: "a.[x" is not a valid pattern: * matches any text, ? one character, [ab] one of these`,
		`{"rules": [{"effect": "deny", "tools": ["wiki."]}]}`:                      `1:41: "tools" of rule 0: "wiki." ends after its server: write "wiki.*" for all of its tools`,
		`{"rules": [{"effect": "deny", "args": {"q": "/a(?=b)/"}}]}`:               "1:45: \"q\" of rule 0: \"/a(?=b)/\" is not a valid regular expression: invalid or unsupported Perl syntax: `(?=` (the syntax is that of RE2)",
		`{"rules": [{"effect": "deny", "args": {"q": {"grt": 1}}}]}`:               `1:46: unknown key "grt" in "q" of rule 0; did you mean "gt"?`,
		`{"rules": [{"effect": "deny", "args": {"q": {"gt": "1"}}}]}`:              `1:52: "q" of rule 0 must be compared with a number, not a string`,
		`{"rules": [{"effect": "deny", "args": {"q": {}}}]}`:                       `1:45: "q" of rule 0 is empty: write a value, or one of not, in, gt, gte, lt, lte, absent, under, host`,
		`{"rules": [{"effect": "deny", "args": {"q": {"host": "https://a.b/"}}}]}`: `1:54: "host" of "q" of rule 0: a host is a name such as "*.example.com", without scheme, port and path`,
		`{"rules": [{"effect": "deny", "args": {"q..r": 1}}]}`:                     `1:40: rule 0: "q..r" is not a path such as "owner" or "ops.*.op"`,
		`{"flows": [{"from": ["a"], "effect": "allow"}]}`:                          `1:12: flow 0 has no "to"`,
		`{"labels": {"a": ["secret"]}}`:                                            `1:19: unknown label "secret"`,
		`{"budgets": {"run": {"calls": -1}}}`:                                      `1:31: "calls" of the budgets of the policy is -1`,
		`{"budgets": {"run": {"calls": 1.5}}}`:                                     `1:31: "calls" of the budgets of the policy is 1.5`,
		`{"profiles": {"ci": {"profiles": {}}}}`:                                   `1:22: unknown key "profiles" in profile "ci"`,
		`{"annotations": {"a": "trusted"}}`:                                        `1:23: unknown "annotations" "trusted"; did you mean "trust"?`,
		"{\n \"rules\": [\n  {\"effect\": \"deny\"},\n  5]}":                       `4:3: rule 1 must be an object, { … }, not a number`,
		`[]`: `1:1: the policy must be an object, { … }, not a list`,
		strings.Repeat(`{"profiles":`, 60) + "1" + strings.Repeat("}", 60): `nested more than 50 levels deep`,
	} {
		r, mistakes := policy.ReadRules(policy.Source{File: "policy.json", Text: []byte(text)})
		if r != nil || !slices.ContainsFunc(mistakes, func(m policy.Mistake) bool { return strings.Contains(m.Error(), want) }) {
			t.Errorf("%.80s: %v, want %s", text, mistakes, want)
		}
	}
}

// The order of rules does not matter for the effect, and the first of those that
// have it gives the reason.
func TestOrderOfRulesDoesNotMatter(t *testing.T) {
	texts := []string{`{"effect":"allow","tools":["a"]}`, `{"effect":"ask","tools":["a.*"],"reason":"x"}`, `{"effect":"deny","tools":["a.b"],"args":{"n":1}}`}
	call := policy.CallOf(toolOfServer("a", "b"))
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var list []string
		for _, i := range order {
			list = append(list, texts[i])
		}
		r := rules(t, `{"rules":[`+strings.Join(list, ",")+`]}`)
		for args, want := range map[string]policy.Effect{`{"n":1}`: policy.Deny, `{"n":2}`: policy.Ask} {
			call.Args = json.RawMessage(args)
			if d := r.Decide(call); d.Effect != want || d.Rule == nil || d.Rule.Effect != want {
				t.Errorf("%v %s: %+v, want %s", order, args, d, want)
			}
		}
	}
}

func TestPatternsOfTools(t *testing.T) {
	drive, dotted := toolOfServer("google-drive", "get_document"), toolOfServer("a.b", "c.d")
	for _, tt := range []struct {
		tool    *discovery.Tool
		pattern string
		want    bool
	}{
		{drive, "google-drive", true}, {drive, "google_drive", true}, {drive, "google-drive.get_document", true},
		{drive, "google-drive/get_document", true}, {drive, "google-drive:get_document", true}, {drive, "google_drive__get_document", true},
		{drive, "google-drive__get_*", true}, {drive, "*.get_*", true}, {drive, "*__get_*", true}, {drive, "*", true}, {drive, "google*", true},
		{drive, "g?ogle-drive.get_[dx]*", true}, {drive, "google-drive.get_[^d]*", false},
		{drive, "google", false}, {drive, "google-drive-2", false}, {drive, "google.*", false}, {drive, "get_document", false}, {drive, "google-drive.get", false},
		{drive, "google-drive.GET_document", false},
		{dotted, "a.b.c.d", true}, {dotted, "a.b", true}, {dotted, "a.b.*", true}, {dotted, "a.c.d", false}, {dotted, "a", false},
		{toolOfServer("s", "a/b"), "s.a/b", true}, {toolOfServer("s", "a/b"), "s.*", true}, {toolOfServer("s", "größe"), "s.gr??e", true},
	} {
		r := rules(t, fmt.Sprintf(`{"preset":"open","rules":[{"effect":"deny","tools":[%q]}]}`, tt.pattern))
		if got := r.Decide(policy.CallOf(tt.tool)).Effect == policy.Deny; got != tt.want {
			t.Errorf("%s for %s: %v, want %v", tt.pattern, tt.tool.ID, got, tt.want)
		}
	}
}

// Conditions on arguments: what a rule that denies makes of them, and one that
// allows.
func TestConditionsOnArguments(t *testing.T) {
	for _, tt := range []struct {
		condition, args string
		denies, allows  bool
	}{
		{`{"a":"x"}`, `{"a":"x"}`, true, true},
		{`{"a":"x"}`, `{"a":"X"}`, false, false},
		{`{"a":"x"}`, `{"b":"x"}`, false, false},
		{`{"a":"x"}`, `{"a":5}`, true, false},
		{`{"a":"x"}`, `{"a":null}`, true, false},
		{`{"a":"x"}`, `{"a":{"b":"x"}}`, true, false},
		{`{"a":"x"}`, `{"a":["x","x"]}`, true, true},
		{`{"a":"x"}`, `{"a":["x","y"]}`, true, false},
		{`{"a":"x"}`, `{"a":[["y"]]}`, false, false},
		{`{"a":"x"}`, `{"a":[]}`, false, false},
		{`{"a":"x"}`, `{"a":"x","a":"y"}`, true, false},
		{`{"a":"x"}`, `{"\u0061":"\u0078"}`, true, true},
		{`{"a":"x*"}`, `{"a":"xyz\n/"}`, true, true},
		{`{"a":"x?z"}`, `{"a":"xüz"}`, true, true},
		{`{"a":"[x]"}`, `{"a":"x"}`, false, false},
		{`{"a":"/^drop\\s/i"}`, `{"a":"DROP table"}`, true, true},
		{`{"a":"/^drop\\s/"}`, `{"a":"DROP table"}`, false, false},
		{`{"a":"/etc/passwd"}`, `{"a":"/etc/passwd"}`, true, true},
		{`{"a":["x",5,true]}`, `{"a":5.0}`, true, true},
		{`{"a":["x",5,true]}`, `{"a":6}`, false, false},
		{`{"a":["x",5]}`, `{"a":false}`, true, false},
		{`{"a":{"in":["x","y*"]}}`, `{"a":"yy"}`, true, true},
		{`{"a":{"not":["x","y"]}}`, `{"a":"z"}`, true, true},
		{`{"a":{"not":["x","y"]}}`, `{"a":"y"}`, false, false},
		{`{"a":{"not":"x"}}`, `{"a":5}`, true, false},
		{`{"a":{"not":"x"}}`, `{}`, false, false},
		{`{"a":true}`, `{"a":true}`, true, true},
		{`{"a":true}`, `{"a":"true"}`, true, false},
		{`{"a":null}`, `{"a":null}`, true, true},
		{`{"a":{"gt":10}}`, `{"a":10}`, false, false},
		{`{"a":{"gte":10,"lt":20}}`, `{"a":1e1}`, true, true},
		{`{"a":{"gte":10,"lt":20}}`, `{"a":20}`, false, false},
		{`{"a":{"lte":-1.5}}`, `{"a":-1.50}`, true, true},
		{`{"a":{"gt":10}}`, `{"a":"11"}`, true, false},
		{`{"a":{"gt":10}}`, `{"a":1e999999999}`, true, false},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false, false},
		{`{"a":{"absent":true}}`, `{}`, true, true},
		{`{"a":{"absent":true}}`, `{"a":1}`, false, false},
		{`{"a":{"absent":true}}`, `{"a":null}`, true, false},
		{`{"a":{"absent":false}}`, `{"a":{"b":1}}`, true, true},
		{`{"a":{"absent":false}}`, `{"a":[]}`, true, true},
		{`{"a":{"absent":false}}`, `{}`, false, false},
		{`{"a":[{"absent":true},"x"]}`, `{}`, true, true},
		{`{"a":[{"absent":true},"x"]}`, `{"a":"x"}`, true, true},
		{`{"a":[{"absent":true},"x"]}`, `{"a":"y"}`, false, false},
		{`{"a":{"under":"/team"}}`, `{"a":"/team/x"}`, true, true},
		{`{"a":{"under":"/team/"}}`, `{"a":"/team"}`, true, true},
		{`{"a":{"under":"/team"}}`, `{"a":"/teams/x"}`, false, false},
		{`{"a":{"under":"/team"}}`, `{"a":"/team/../private"}`, false, false},
		{`{"a":{"under":"/team"}}`, `{"a":"/x/..//team/./y/"}`, true, true},
		{`{"a":{"under":"/team"}}`, `{"a":"/team/..x"}`, true, true},
		{`{"a":{"under":"/team"}}`, `{"a":"/team/a\\..\\..\\x"}`, true, false},
		{`{"a":{"under":"/etc"}}`, `{"a":"../../etc/passwd"}`, true, false},
		{`{"a":{"under":"/etc"}}`, `{"a":"file:///etc/passwd"}`, true, false},
		{`{"a":{"under":"/etc"}}`, `{"a":"/etc\u0000/x"}`, true, false},
		{`{"a":{"under":"C:/team"}}`, `{"a":"C:\\team\\x"}`, true, true},
		{`{"a":{"under":["/a","/b"]}}`, `{"a":"/b/c"}`, true, true},
		{`{"a":{"not":{"under":"/team"}}}`, `{"a":"/team/../x"}`, true, true},
		{`{"a":{"under":"src"}}`, `{"a":"src/../../x"}`, false, false},
		{`{"a":{"host":"*.example.com"}}`, `{"a":"https://API.example.com:443/x"}`, true, true},
		{`{"a":{"host":"*.example.com"}}`, `{"a":"https://api.example.com@evil.org/"}`, false, false},
		{`{"a":{"host":"example.com"}}`, `{"a":"https://example.com.evil.org/?example.com"}`, false, false},
		{`{"a":{"host":"example.com"}}`, `{"a":"https://evil.org\\@example.com/"}`, true, false},
		{`{"a":{"host":"example.com"}}`, `{"a":"example.com"}`, true, false},
		{`{"a":{"host":"example.com"}}`, `{"a":"https://Example.com./"}`, true, true},
		{`{"a":{"host":["a.org","b.org"]}}`, `{"a":"http://b.org"}`, true, true},
		{`{"a":{"host":{"not":"a.org"}}}`, `{"a":"http://b.org"}`, true, true},
		{`{"a.b":"x"}`, `{"a":{"b":"x"}}`, true, true},
		{`{"a.b":"x"}`, `{"a.b":"x"}`, false, false},
		{`{"a\\.b":"x"}`, `{"a.b":"x"}`, true, true},
		{`{"a.b":"x"}`, `{"a":"x"}`, true, false},
		{`{"a.b":"x"}`, `{"a":null}`, false, false},
		{`{"a.b":"x"}`, `{"a":[{"b":"y"},{"b":"x"}]}`, true, false},
		{`{"a.*.b":"x"}`, `{"a":[{"b":"y"},{"b":"x"}]}`, true, false},
		{`{"a.*.b":"x"}`, `{"a":{"k":{"b":"x"}}}`, true, true},
		{`{"a.*.b":"x"}`, `{"a":[{"b":"x"},{"c":1}]}`, true, true},
		{`{"a.1":"x"}`, `{"a":["y","x"]}`, true, true},
		{`{"*":"x"}`, `{"k":"y","l":"x"}`, true, false},
		{`{"a":"x","b":"y"}`, `{"a":"x","b":"z"}`, false, false},
		{`{"a":"x","b":"y"}`, `{"a":"x","b":"y"}`, true, true},
	} {
		call := policy.CallOf(toolOfServer("s", "t"))
		call.Args = json.RawMessage(tt.args)
		for effect, want := range map[string]bool{"deny": tt.denies, "ask": tt.denies, "allow": tt.allows} {
			r := rules(t, fmt.Sprintf(`{"preset":"open","rules":[{"effect":%q,"args":%s}]}`, effect, tt.condition))
			if got := r.Decide(call).Rule != nil; got != want {
				t.Errorf("%s %s, %s: %v, want %v", effect, tt.condition, tt.args, got, want)
			}
		}
	}
}

func TestTrustedAnnotations(t *testing.T) {
	yes, no := new(true), new(false)
	for _, tt := range []struct {
		name                  string
		readOnly, destructive *bool
		check, trust          policy.Class
	}{
		{"delete_page", yes, nil, policy.Destructive, policy.Read},
		{"delete_page", no, no, policy.Destructive, policy.Write},
		{"delete_page", nil, nil, policy.Destructive, policy.Destructive},
		{"get_page", yes, yes, policy.Read, policy.Destructive},
		{"get_page", no, nil, policy.Write, policy.Write},
		{"get_page", nil, nil, policy.Read, policy.Read},
	} {
		tool := policy.NewTool(discovery.Listing{Server: "wiki", Tools: []discovery.ListedTool{
			{Name: tt.name, Annotations: discovery.Annotations{ReadOnly: tt.readOnly, Destructive: tt.destructive}}}}, tt.name)
		for text, want := range map[string]policy.Class{
			`{}`: tt.check, `{"annotations":"trust"}`: tt.trust, `{"annotations":{"wiki":"trust"}}`: tt.trust,
			`{"annotations":{"*":"trust","wiki":"check"}}`: tt.check, `{"annotations":{"other":"trust"}}`: tt.check,
		} {
			if got := rules(t, text).ClassOf(tool); got != want {
				t.Errorf("%s %s: %s, want %s", tt.name, text, got, want)
			}
		}
	}
}

// A managed policy only adds.
func TestManagedPolicy(t *testing.T) {
	own := rules(t, `{"preset":"open","annotations":"trust","rules":[{"effect":"allow","tools":["*"]}],"profiles":{"ci":{"preset":"open"}}}`)
	managed := rules(t, `{"preset":"careful","annotations":"check","rules":[{"effect":"deny","tools":["wiki.delete_*"]}],"profiles":{"ci":{"servers":["wiki"]}}}`)
	r := own.Under(managed)
	destroy, write := policy.CallOf(toolOfServer("wiki", "delete_page")), policy.CallOf(toolOfServer("hr", "send"))
	if d := r.Decide(destroy); d.Effect != policy.Deny {
		t.Errorf("a managed deny: %+v", d)
	}
	if d := r.Decide(write); d.Effect != policy.Allow || d.Code != policy.CodeRule {
		t.Errorf("an allow of the configuration: %+v", d)
	}
	write.Profile = "ci"
	if d := r.Decide(write); d.Code != policy.CodeProfile {
		t.Errorf("outside of the managed profile: %+v", d)
	}
	write.Profile = "other"
	if d := r.Decide(write); d.Effect != policy.Allow || r.HasProfile("other") {
		t.Errorf("a profile that the policy does not name: %+v", d)
	}
	plain := rules(t, `{"preset":"open"}`).Under(managed)
	write.Profile = ""
	if d := plain.Decide(write); d.Effect != policy.Ask || d.Code != policy.CodePreset {
		t.Errorf("the stricter preset: %+v", d)
	}
}

// A caller with two profiles has what both have.
func TestSeveralProfiles(t *testing.T) {
	r := rules(t, `{"preset":"open","profiles":{"a":{"servers":["wiki","hr"]},"b":{"servers":["wiki","sms"],"preset":"careful"}}}`)
	for name, want := range map[string]string{"wiki.create_page": "ask preset", "hr.create_x": "deny profile", "sms.send": "deny profile", "wiki.get_page": "allow preset"} {
		server, tool, _ := strings.Cut(name, ".")
		c := policy.CallOf(toolOfServer(server, tool))
		c.Profile = "a+b+project"
		if got := r.Decide(c).String(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// What is asked about a tool as such holds for each of its calls.
func TestAboutAToolAsSuch(t *testing.T) {
	c := policy.CallOf(toolOfServer("wiki", "create_page"))
	for text, want := range map[string]policy.Effect{
		`{"preset":"open","rules":[{"effect":"deny","tools":["wiki"],"args":{"a":1}}]}`: policy.Allow,
		`{"preset":"open","rules":[{"effect":"deny","tools":["wiki"]}]}`:                policy.Deny,
		`{"preset":"readonly"}`: policy.Deny,
		`{"preset":"readonly","rules":[{"effect":"allow","tools":["wiki"],"args":{"a":1}}]}`: policy.Allow,
		`{"preset":"careful"}`:                             policy.Ask,
		`{"preset":"open","budgets":{"run":{"writes":0}}}`: policy.Deny,
	} {
		if d := rules(t, text).Decide(c); d.Effect != want {
			t.Errorf("%s: %+v, want %s", text, d, want)
		}
	}
}

func fiftyOne(t testing.TB) (*policy.Rules, policy.Call) {
	var list []string
	for i := range 50 {
		list = append(list, []string{
			fmt.Sprintf(`{"effect":"deny","tools":["server%d.delete_*","server%d.drop_*"]}`, i, i),
			fmt.Sprintf(`{"effect":"ask","tools":["*.write_%d*"],"class":["write","destructive"]}`, i),
			fmt.Sprintf(`{"effect":"deny","tools":["drive.*"],"args":{"folder":"/^secret%d/"}}`, i),
			fmt.Sprintf(`{"effect":"ask","tools":["drive.upload"],"args":{"size":{"gt":%d000},"name":"*.exe"}}`, i),
			fmt.Sprintf(`{"effect":"allow","tools":["server%d"],"except":["server%d.x"],"args":{"owner":["a","b"]}}`, i, i),
		}[i%5])
	}
	list = append(list, `{"effect":"allow","tools":["drive.upload"],"args":{"folder":{"under":"/team"}}}`)
	r := rules(t, `{"preset":"careful","rules":[`+strings.Join(list, ",")+`],"budgets":{"run":{"calls":500,"writes":50}}}`)
	c := policy.CallOf(toolOfServer("drive", "upload"))
	c.Args = json.RawMessage(`{"name":"report.pdf","folder":"/team/2026","size":120000,"tags":["a","b"]}`)
	return r, c
}

func TestRulesAllocateNothing(t *testing.T) {
	r, c := fiftyOne(t)
	if d := r.Decide(c); d.Effect != policy.Allow || d.Rule == nil || d.Rule.Index != 50 {
		t.Fatalf("%+v", d)
	}
	if n := testing.AllocsPerRun(100, func() { r.Decide(c) }); n != 0 && !raceDetector {
		t.Errorf("%v allocations", n)
	}
}

// One call against 51 rules, 21 of which are about its server.
func BenchmarkRules(b *testing.B) {
	r, c := fiftyOne(b)
	b.ReportAllocs()
	for b.Loop() {
		r.Decide(c)
	}
}

func ExampleReadRules() {
	r, _ := policy.ReadRules(policy.Source{File: "policy.json", Text: []byte(`{
		"preset": "careful",
		"rules": [
			{"effect": "allow", "tools": ["wiki.*"]},
			{"effect": "deny", "tools": ["wiki.delete_*"], "reason": "pages are archived, not deleted"}
		]
	}`)})
	for _, name := range []string{"get_page", "create_page", "delete_page"} {
		d := r.Decide(policy.CallOf(policy.NewTool(discovery.Listing{Server: "wiki"}, name)))
		fmt.Printf("%s: %s %q\n", name, d.Effect, d.Reason)
	}
	// Output:
	// get_page: allow ""
	// create_page: allow ""
	// delete_page: deny "is denied by the policy: pages are archived, not deleted"
}
