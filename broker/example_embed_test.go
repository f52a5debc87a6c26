package broker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/policy"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// A broker with one remote server, and a policy that denies tools that destroy: a script
// that names one is refused before it runs.
func ExampleNew() {
	wiki := serveWiki() // a server with the tools read_page and delete_page
	defer wiki.Close()
	ctx := context.Background()

	rules, mistakes := policy.ReadRules(policy.Source{
		File: "policy.json",
		Text: []byte(`{"rules": [{"effect": "deny", "class": ["destructive"], "reason": "nothing is deleted from here"}]}`),
	})
	if len(mistakes) > 0 {
		log.Fatal(mistakes)
	}
	b, err := broker.New(broker.Deps{Runner: worker.New(nil)}, broker.Settings{
		Servers: []upstream.Config{{Name: "wiki", URL: wiki.URL}},
		Policy:  rules,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	for _, s := range b.Refresh(ctx) { // connect, and list the tools
		if s.Err != nil {
			log.Fatal(s.Name, ": ", s.Err)
		}
	}

	answer := b.Execute(ctx, broker.ExecuteRequest{Client: "me", Code: "return await wiki.readPage({ title: 'Home' })"})
	fmt.Println(answer.ExitCode, string(answer.Result))
	answer = b.Execute(ctx, broker.ExecuteRequest{Client: "me", Code: "return await wiki.deletePage({ title: 'Home' })"})
	fmt.Println(answer.ExitCode, answer.ToolsCalled)
	// Output:
	// 0 "text of Home"
	// 2 []
}

// A broker as an endpoint of a program's own HTTP server.
func ExampleBroker_Handler() {
	b, err := broker.New(broker.Deps{Runner: worker.New(nil)}, broker.Settings{})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	b.Start(context.Background()) // connects in the background

	endpoint, err := b.Handler(broker.HTTPOptions{Addr: "127.0.0.1:8080"})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", endpoint)
	server := httptest.NewServer(mux) // or http.ListenAndServe
	defer server.Close()

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	tools, err := session.ListTools(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range tools.Tools {
		fmt.Println(tool.Name)
	}
	// Output:
	// execute_code
	// list_servers
	// search_tools
}

func serveWiki() *httptest.Server {
	type page struct {
		Title string `json:"title"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "wiki", Version: "1"}, nil)
	answer := func(_ context.Context, _ *mcp.CallToolRequest, in page) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "text of " + in.Title}}}, nil, nil
	}
	mcp.AddTool(s, &mcp.Tool{Name: "read_page", Description: "Read a page."}, answer)
	mcp.AddTool(s, &mcp.Tool{Name: "delete_page", Description: "Delete a page."}, answer)
	return httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true}))
}

// The blocks of Go in docs/embed.md are equal to parts of the examples of this file,
// except for the main function, which is that of the whole program.
func TestEmbedPageShowsTheExamples(t *testing.T) {
	page, err := os.ReadFile("../docs/embed.md")
	source, err2 := os.ReadFile("example_embed_test.go")
	program, err3 := os.ReadFile("../examples/quickstart/embedded/main.go")
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	flat := func(text []byte) string { return regexp.MustCompile(`\n\t+`).ReplaceAllString(string(text), "\n") }
	known := flat(source) + strings.Replace(flat(program), "// Each script runs in a child process. Without broker-worker beside it, the\n// child is this program again, and Main contains it before it reads the script.\n", "", 1)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) < 3 {
		t.Fatalf("%d blocks of Go", len(blocks))
	}
	for _, block := range blocks {
		text, _, _ := strings.Cut(flat(block[1]), "// …\n")
		if strings.HasPrefix(text, "import (") {
			continue // a test at the root compares it with the blocks
		}
		if !strings.Contains(known, strings.TrimSpace(text)) {
			t.Errorf("no example has\n%s", block[1])
		}
	}
}
