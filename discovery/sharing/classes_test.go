package sharing

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

func TestReviewedTools(t *testing.T) {
	for _, tt := range []struct {
		line, tool, want string
	}{
		{"npx -y @playwright/mcp@latest --isolated", "browser_navigate", "write"},
		{"docker run -i --rm mcp/playwright:1.2", "browser_run_code", "destructive"},
		{"node /opt/node_modules/@notionhq/notion-mcp-server/bin/cli.mjs", "API-post-search", "read"},
		{"uvx mcp-server-sqlite==1.0 --db-path a.db", "write_query", "destructive"},
		{`C:\tools\tavily-mcp.exe`, "tavily_map", "read"},
		{"npx -y @playwright/mcp", "another", ""},
		{"npx -y @somebody/playwright-mcp", "browser_navigate", ""},
		{"npx -y somebody-elses-server", "browser_navigate", ""},
	} {
		words := strings.Fields(tt.line)
		before := discovery.Listing{Tools: []discovery.ListedTool{{Name: tt.tool}}}
		got := Reviewed(words[0], words[1:], before).Tools[0].Review
		if tt.want == "" && got != nil || tt.want != "" && (got == nil || got.Class != tt.want) {
			t.Errorf("%s of %s: %+v, want %q", tt.tool, tt.line, got, tt.want)
		}
		if before.Tools[0].Review != nil {
			t.Errorf("%s: the listing that was given has changed", tt.line)
		}
	}
}

// Servers at the address of their vendor are known too, and nobody else's.
func TestReviewedToolsOfHostedServers(t *testing.T) {
	for _, tt := range []struct {
		address, tool, want string
	}{
		{"https://mcp.notion.com/mcp", "notion-search", "read"},
		{"https://mcp.notion.com/mcp", "notion-create-pages", "write"},
		{"https://MCP.Linear.app:443/sse", "update_issue", "write"},
		{"https://api.githubcopilot.com/mcp/", "push_files", "write"},
		{"https://mcp.context7.com/mcp", "query-docs", "read"},
		{"https://mcp.stripe.com", "cancel_subscription", "destructive"},
		{"https://mcp.notion.com/mcp", "notion-update-page", ""},
		{"http://mcp.notion.com/mcp", "notion-search", ""},
		{"https://mcp.notion.com:8443/mcp", "notion-search", ""},
		{"https://mcp.notion.com.example.org/mcp", "notion-search", ""},
		{"https://mcp.notion.com@example.org/mcp", "notion-search", ""},
		{"https://example.org/mcp.notion.com", "notion-search", ""},
		{"https://exa-mcp-server/mcp", "web_search_exa", ""}, // a package is no host
		{"https://%zz", "notion-search", ""},
	} {
		before := discovery.Listing{Tools: []discovery.ListedTool{{Name: tt.tool}}}
		over := Reviewed("npx", []string{"-y", "mcp-remote@0.1.2", tt.address}, before)
		for how, l := range map[string]discovery.Listing{"its address": ReviewedAt(tt.address, before), "mcp-remote": over} {
			got := l.Tools[0].Review
			if tt.want == "" && got != nil || tt.want != "" && (got == nil || got.Class != tt.want) {
				t.Errorf("%s at %s by %s: %+v, want %q", tt.tool, tt.address, how, got, tt.want)
			}
		}
	}
	if l := Reviewed("curl", []string{"https://mcp.notion.com/mcp"}, discovery.Listing{Tools: []discovery.ListedTool{{Name: "notion-search"}}}); l.Tools[0].Review != nil {
		t.Error("any program with an address counts as the server there")
	}
}

// The table has a reason for each class, contains each package and tool once, and gives
// no tool that deletes by its name a milder class.
func TestReviewsAreWellFormed(t *testing.T) {
	if len(reviews) < 30 {
		t.Errorf("%d servers are reviewed", len(reviews))
	}
	packages := map[string]bool{}
	for _, s := range reviews {
		for name := range strings.FieldsSeq(s.names) {
			if packages[name] {
				t.Errorf("%s is there twice", name)
			}
			packages[name] = true
		}
		var tools []string
		for _, j := range s.judged {
			if !slices.Contains([]string{read, unknown, write, destructive}, j.class) || j.why == "" || strings.HasSuffix(j.why, ".") {
				t.Errorf("%s: class %q, %q", s.names, j.class, j.why)
			}
			for tool := range strings.FieldsSeq(j.tools) {
				if slices.Contains(tools, tool) {
					t.Errorf("%s: %s is there twice", s.names, tool)
				}
				tools = append(tools, tool)
				for _, verb := range []string{"delete", "remove", "drop", "execute", "evaluate", "run_", "overwrite"} {
					if strings.Contains(strings.ToLower(tool), verb) && (j.class == read || j.class == write) {
						t.Errorf("%s: %s has class %s", s.names, tool, j.class)
					}
				}
			}
		}
	}
}
