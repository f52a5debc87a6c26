package policy_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/internal/catalogues"
	"github.com/mcpbroker/mcpbroker/policy"
)

var update = flag.Bool("update", false, "rewrite testdata and the page from the catalogues that BROKER_RECORDED names")

// A published server with its tools that delete by their names or hints. It has schemas
// for tools with names that read.
type published struct {
	Server  string                 `json:"server"`
	Package string                 `json:"package"`
	All     int                    `json:"all"` // of its tools
	Tools   []discovery.ListedTool `json:"tools"`
}

const (
	publishedFile = "testdata/tools/published.json"
	othersFile    = "testdata/tools/others.json" // with the other tools of the same servers
	asksBegin     = "<!-- go test ./policy -run DefaultAsks -update writes this table -->\n"
)

// The page lists each published tool that the default asks about, and the default asks
// about every tool with a verb that deletes, overwrites or runs code.
func TestWhatTheDefaultAsksAbout(t *testing.T) {
	if *update {
		recordPublished(t)
	}
	servers, others := readPublished(t, publishedFile), readPublished(t, othersFile)
	var table strings.Builder
	table.WriteString("| server | tools | before | now | what is asked about |\n|---|--:|--:|--:|---|\n")
	rules := rules(t, `{}`)
	var all, before, now int
	for i, s := range servers {
		l := sharing.Reviewed("npx", []string{"-y", s.Package}, discovery.Listing{Server: s.Server, Tools: slices.Concat(s.Tools, others[i].Tools)})
		var asked []string
		for _, lt := range l.Tools {
			tool := &discovery.Tool{ListedTool: lt, Server: s.Server}
			if rules.Decide(policy.CallOf(tool)).Effect == policy.Ask {
				asked = append(asked, "`"+lt.Name+"`")
			}
		}
		all, before, now = all+s.All, before+len(s.Tools), now+len(asked)
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %s |\n", s.Server, s.All, len(s.Tools), len(asked), strings.Join(asked, " "))
	}
	fmt.Fprintf(&table, "| **all** | **%d** | **%d** | **%d** | |\n", all, before, now)
	const file = "../docs/policy.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), asksBegin)
	if !ok {
		t.Fatalf("%s has no table", file)
	}
	old, tail, _ := strings.Cut(rest, "\n\n")
	if *update {
		if err := os.WriteFile(file, []byte(head+asksBegin+strings.TrimSuffix(table.String(), "\n")+"\n\n"+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != strings.TrimSuffix(table.String(), "\n") {
		t.Errorf("%s lists something else than the default asks about:\n%s", file, table.String())
	}
	if summary := fmt.Sprintf("asks about %d of %d; if every `\"destructiveHint\": true` counted, it would ask about %d", now, all, before); !*update && !strings.Contains(string(page), summary) {
		t.Errorf("%s does not say that %s", file, summary)
	}
}

func readPublished(t *testing.T, file string) (servers []published) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &servers); err != nil {
		t.Fatal(err)
	}
	return servers
}

// recordPublished writes the part of the recorded catalogues that the test needs.
func recordPublished(t *testing.T) {
	dir := catalogues.Recorded("catalog")
	if dir == "" {
		t.Skip("BROKER_RECORDED names no folder with recorded catalogues")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	var servers, others []published
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s := published{}
		if json.Unmarshal(data, &s) != nil || s.Package == "" {
			continue // it lists the others
		}
		s.All = len(s.Tools)
		var kept []discovery.ListedTool
		rest := published{Server: s.Server, Package: s.Package, All: s.All}
		for _, lt := range sharing.Reviewed("npx", []string{s.Package}, discovery.Listing{Tools: s.Tools}).Tools {
			if c := policy.ClassOf(&discovery.Tool{ListedTool: lt}); c == policy.Destructive && lt.Review != nil && (lt.Annotations.Destructive == nil || !*lt.Annotations.Destructive) {
				t.Logf("%s %s: asked about since it was reviewed", s.Server, lt.Name)
			}
			class := policy.ClassOf(&discovery.Tool{ListedTool: discovery.ListedTool{Name: lt.Name}})
			if class != policy.Destructive && (lt.Annotations.Destructive == nil || !*lt.Annotations.Destructive) {
				rest.Tools = append(rest.Tools, discovery.ListedTool{Name: lt.Name, Annotations: discovery.Annotations{ReadOnly: lt.Annotations.ReadOnly, Destructive: lt.Annotations.Destructive}})
				continue
			}
			bare := discovery.ListedTool{Name: lt.Name, Annotations: discovery.Annotations{ReadOnly: lt.Annotations.ReadOnly, Destructive: lt.Annotations.Destructive}}
			if class == policy.Read {
				bare.InputSchema = lt.InputSchema
			}
			kept = append(kept, bare)
		}
		s.Tools = kept
		servers, others = append(servers, s), append(others, rest)
	}
	writePublished(t, publishedFile, servers)
	writePublished(t, othersFile, others)
}

func writePublished(t *testing.T, file string, servers []published) {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("[")
	for i, s := range servers {
		if i > 0 {
			out.WriteString(",")
		}
		fmt.Fprintf(&out, "\n{\"server\": %q, \"package\": %q, \"all\": %d, \"tools\": [", s.Server, s.Package, s.All)
		for i, lt := range s.Tools {
			if i > 0 {
				out.WriteString(",")
			}
			line, err := json.Marshal(lt)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "\n%s", line)
		}
		out.WriteString("]}")
	}
	out.WriteString("]\n")
	if err := os.MkdirAll("testdata/tools", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Only a name and parameters that leave no doubt override a hint.
func TestReadersThatAreSaidToDestroy(t *testing.T) {
	yes, no := new(true), new(false)
	schema := func(properties string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)
	}
	for _, tt := range []struct {
		name, properties string
		readOnly         *bool
		want             policy.Class
	}{
		{"excel_read_sheet", `"fileAbsolutePath":{"type":"string"},"sheetName":{},"range":{}`, no, policy.Write},
		{"API-get-user", `"user_id":{"type":"string"}`, nil, policy.Read},
		{"list_issues", `"state":{"enum":["open","closed","all"]},"created_after":{},"update_time":{},"updatedAt":{}`, nil, policy.Read},
		{"getDocument", ``, nil, policy.Read},
		{"search_pages", `"query":{},"filter":{"type":"object","properties":{"tag":{}}},"start_cursor":{},"sort":{}`, nil, policy.Read},
		{"fetch_url", `"url":{},"timeout":{}`, nil, policy.Read},
		{"search_everything", `"text":{},"type":{"enum":["page","image"]}`, yes, policy.Read},
		{"describe_table", `"table_name":{}`, nil, policy.Read},

		{"query", `"sql":{"type":"string"}`, nil, policy.Destructive},
		{"query", `"query":{"type":"string"}`, nil, policy.Destructive},
		{"read_query", `"query":{"type":"string"}`, no, policy.Destructive},
		{"get_database_rows", `"statement":{}`, nil, policy.Destructive},
		{"search_graph", `"q":{}`, nil, policy.Destructive},
		{"execute", `"command":{}`, nil, policy.Destructive},
		{"fetch_url", `"url":{},"method":{"enum":["GET","POST"]}`, nil, policy.Destructive},
		{"fetch_url", `"url":{},"body":{}`, nil, policy.Destructive},
		{"get_request", `"kind":{"enum":["GET","DELETE"]}`, nil, policy.Destructive},
		{"get_request", `"kind":{"const":"DELETE"}`, nil, policy.Destructive},
		{"get_request", `"options":{"type":"object","properties":{"httpMethod":{}}}`, nil, policy.Destructive},
		{"get_request", `"steps":{"type":"array","items":{"anyOf":[{"type":"object","properties":{"script":{}}}]}}`, nil, policy.Destructive},
		{"list_files", `"path":{},"deleteAfterRead":{}`, nil, policy.Destructive},
		{"list_versions", `"mode":{"enum":["list","prune"]}`, nil, policy.Destructive},
		{"read_messages", `"queue":{},"ack":{"type":"boolean"}`, nil, policy.Destructive},
		{"read_file", `"path":{},"content":{}`, nil, policy.Destructive},
		{"get_report", `"output_path":{}`, nil, policy.Destructive},
		{"find", `"pipeline":{"type":"array"}`, nil, policy.Destructive},
		{"get_and_renew_lease", ``, nil, policy.Destructive},
		{"get_or_rotate_key", ``, yes, policy.Destructive},
		{"list_pop", `"key":{}`, nil, policy.Destructive},
		{"read_once", `"secret":{}`, nil, policy.Destructive},
		{"manage_list", ``, nil, policy.Destructive},
		{"delete_list", `"id":{}`, nil, policy.Destructive},
		{"check_list", `"id":{}`, nil, policy.Destructive}, // check in, check out, check off
		{"wait", ``, nil, policy.Destructive},
		{"get_x", `"é":{}`, nil, policy.Destructive},
	} {
		tool := &discovery.Tool{ListedTool: discovery.ListedTool{Name: tt.name, InputSchema: schema(tt.properties), Annotations: discovery.Annotations{ReadOnly: tt.readOnly, Destructive: yes}}}
		if got := policy.ClassOf(tool); got != tt.want {
			t.Errorf("%s {%s}: %v, want %v", tt.name, tt.properties, got, tt.want)
		}
	}
	for _, bad := range []string{`{`, `{"patternProperties":{"^x":{}}}`, strings.Repeat(`{"items":`, 40) + `{}` + strings.Repeat(`}`, 40), `{"description":"` + strings.Repeat("x", 1<<17) + `"}`} {
		tool := &discovery.Tool{ListedTool: discovery.ListedTool{Name: "get_x", InputSchema: json.RawMessage(bad), Annotations: discovery.Annotations{Destructive: yes}}}
		if got := policy.ClassOf(tool); got != policy.Destructive {
			t.Errorf("a reader whose schema is not read: %v", got)
		}
	}
}

// A question says who claims that a tool destroys.
func TestWhoSaysThatAToolDestroys(t *testing.T) {
	rules, yes := rules(t, `{}`), new(true)
	for name, want := range map[string]string{
		"update_page": "its server says that it may destroy something",
		"wait":        "its server says that it may destroy something",
		"query":       "its server says that it may destroy something",
		"delete_page": "is destructive",
		"force_push":  "is destructive",
	} {
		d := rules.Decide(policy.CallOf(&discovery.Tool{ListedTool: discovery.ListedTool{Name: name, InputSchema: json.RawMessage(`{"properties":{"sql":{}}}`), Annotations: discovery.Annotations{Destructive: yes}}}))
		if d.Effect != policy.Ask || !strings.Contains(d.Reason, want) {
			t.Errorf("%s: %s %q, want %q", name, d.Effect, d.Reason, want)
		}
	}
}
