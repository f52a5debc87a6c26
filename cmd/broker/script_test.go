package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// The test binary is the broker, the sandbox's child, and an upstream server
// called "shelf" that scripts find on their PATH.
func TestMain(m *testing.M) {
	if worker.IsChild() {
		worker.Main()
		return
	}
	testscript.Main(m, map[string]func(){
		"broker": main,
		"shelf":  serveShelf,
	})
}

// serveShelf is a real MCP server that keeps books in memory.
func serveShelf() {
	s := mcp.NewServer(&mcp.Implementation{Name: "shelf", Version: "1"}, nil)
	type none struct{}
	type book struct {
		Title string `json:"title" jsonschema:"the title of the book"`
	}
	type books struct {
		Books []book `json:"books"`
	}
	var shelf books
	mcp.AddTool(s, &mcp.Tool{Name: "list_books", Description: "List the books on the shelf.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, books, error) {
			return nil, books{append([]book{{"Emma"}, {strings.Repeat("War and Peace ", 100)}}, shelf.Books...)}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "add_book", Description: "Put a book on the shelf."},
		func(_ context.Context, _ *mcp.CallToolRequest, b book) (*mcp.CallToolResult, books, error) {
			shelf.Books = append(shelf.Books, b)
			return nil, books{shelf.Books}, nil
		})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exitcode": exitCode},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/config")
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/state")
			return nil
		},
	})
}

// exitCode is the script command "exitcode N COMMAND...".
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N COMMAND...")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if got := strconv.Itoa(code); got != args[0] {
		ts.Fatalf("%s ended with code %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}
