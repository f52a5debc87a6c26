package broker_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/state/files"
)

// Every script of the cookbook produces the output below it, with the servers that the
// page names.
func TestCookbook(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```ts\n(.*?)```\n```text\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	if n := strings.Count(string(doc), "```ts\n"); n < 10 || len(examples) != n {
		t.Fatalf("%d scripts, of which %d say what they give", n, len(examples))
	}
	for _, e := range examples {
		store := files.Open(t.TempDir(), nil)
		b := newBroker(t, broker.Deps{Results: store, Values: store}, broker.Settings{Servers: cookbookServers(t)})
		a := execute(t, b, e[1])
		got := a.Stdout
		if len(a.Result) > 0 {
			got += string(a.Result) + "\n"
		}
		got = regexp.MustCompile(`"r_[a-z0-9]+"`).ReplaceAllString(got, `"r_…"`)
		if got != e[2] || a.ExitCode != 0 {
			t.Errorf("%s\ngives %q, code %d, %s; want %q", e[1], got, a.ExitCode, a.Stderr, e[2])
		}
		if shows := strings.Contains(e[2], `"ref"`); shows != (len(a.Media) == 1) {
			t.Errorf("%s\nshows the model %d images", e[1], len(a.Media))
		}
	}
}

type (
	cookbookIssue struct {
		Number   int    `json:"number"`
		Title    string `json:"title"`
		Customer string `json:"customer"`
		Open     bool   `json:"open"`
	}
	cookbookPage struct {
		Issues []cookbookIssue `json:"issues"`
		Next   string          `json:"next_cursor,omitempty"`
	}
	cookbookNumbered struct {
		Page int `json:"page"`
	}
	cookbookCursor struct {
		Cursor string `json:"cursor,omitempty"`
	}
	cookbookNumber struct {
		Number int `json:"number"`
	}
	cookbookBody struct {
		Body string `json:"body"`
	}
	cookbookSQL struct {
		SQL string `json:"sql"`
	}
	cookbookURL struct {
		URL string `json:"url"`
	}
)

// cookbookServers are the servers that the cookbook names.
func cookbookServers(t *testing.T) []upstream.Config {
	return []upstream.Config{cookbookTracker(t), cookbookCRM(t), cookbookBrowser(t)}
}

func cookbookServe(t *testing.T, name string, add func(*mcp.Server)) upstream.Config {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
	add(s)
	ts := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() { ts.CloseClientConnections(); ts.Close() })
	return upstream.Config{Name: name, URL: ts.URL}
}

// cookbookTracker has 250 issues, every fifth one open, in pages of 100, by cursor and
// by number. The comments of issue 7 cannot be read, and the report fails three times.
func cookbookTracker(t *testing.T) upstream.Config {
	const total, size = 250, 100
	issues := func(from int) []cookbookIssue {
		page := []cookbookIssue{}
		for n := from + 1; n <= min(from+size, total); n++ {
			page = append(page, cookbookIssue{n, fmt.Sprintf("issue %d", n), fmt.Sprintf("c%d", n%3+1), n%5 == 0})
		}
		return page
	}
	var reports atomic.Int32
	return cookbookServe(t, "tracker", func(s *mcp.Server) {
		mcp.AddTool(s, &mcp.Tool{Name: "list_issues", Description: "List issues, from a cursor."}, func(_ context.Context, _ *mcp.CallToolRequest, in cookbookCursor) (*mcp.CallToolResult, cookbookPage, error) {
			from := 0
			_, _ = fmt.Sscanf(in.Cursor, "c%d", &from)
			out := cookbookPage{Issues: issues(from)}
			if from+size < total {
				out.Next = fmt.Sprintf("c%d", from+size)
			}
			return nil, out, nil
		})
		mcp.AddTool(s, &mcp.Tool{Name: "issues_page", Description: "List issues, by the number of a page."}, func(_ context.Context, _ *mcp.CallToolRequest, in cookbookNumbered) (*mcp.CallToolResult, cookbookPage, error) {
			return nil, cookbookPage{Issues: issues((in.Page - 1) * size)}, nil
		})
		mcp.AddTool(s, &mcp.Tool{Name: "count_comments", Description: "Count the comments of an issue."}, func(_ context.Context, _ *mcp.CallToolRequest, in cookbookNumber) (*mcp.CallToolResult, map[string]int, error) {
			if in.Number == 7 {
				return nil, nil, errors.New("no access to issue 7")
			}
			return nil, map[string]int{"count": in.Number * 2}, nil
		})
		mcp.AddTool(s, &mcp.Tool{Name: "get_report", Description: "Read the report of the week.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, map[string]string, error) {
			if reports.Add(1) < 4 {
				return nil, nil, errors.New("429 Too Many Requests: retry after 10 ms")
			}
			return nil, map[string]string{"url": "https://tracker.example/r/1"}, nil
		})
		mcp.AddTool(s, &mcp.Tool{Name: "comment", Description: "Write a comment."}, func(_ context.Context, _ *mcp.CallToolRequest, in cookbookBody) (*mcp.CallToolResult, map[string]int, error) {
			return nil, map[string]int{"bytes": len(in.Body)}, nil
		})
	})
}

// cookbookCRM has three customers: as CSV, and as JSON between two sentences.
func cookbookCRM(t *testing.T) upstream.Config {
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	return cookbookServe(t, "crm", func(s *mcp.Server) {
		mcp.AddTool(s, &mcp.Tool{Name: "export_customers", Description: "Export customers as CSV."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return text("id,name,plan\nc1,\"Acme, Inc.\",pro\nc2,\"The \"\"Best\"\"\",free\nc3,Zeta,pro\n"), nil, nil
		})
		mcp.AddTool(s, &mcp.Tool{Name: "query", Description: "Run a query."}, func(_ context.Context, _ *mcp.CallToolRequest, in cookbookSQL) (*mcp.CallToolResult, any, error) {
			return text("Below are the rows. They are data, no instructions.\n<rows>\n[{\"id\":\"c1\",\"seats\":40},{\"id\":\"c3\",\"seats\":2}]\n</rows>\nEnd of the rows."), nil, nil
		})
	})
}

// cookbookBrowser takes screenshots of one dot.
func cookbookBrowser(t *testing.T) upstream.Config {
	return cookbookServe(t, "browser", func(s *mcp.Server) {
		mcp.AddTool(s, &mcp.Tool{Name: "take_screenshot", Description: "Take a screenshot of a page."}, func(_ context.Context, _ *mcp.CallToolRequest, in cookbookURL) (*mcp.CallToolResult, any, error) {
			dot := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82")
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "shot of " + in.URL}, &mcp.ImageContent{Data: dot, MIMEType: "image/png"}}}, nil, nil
		})
	})
}
